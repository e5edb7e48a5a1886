// What the official Go SDK and mcp-go do with a server: list, call, elicit.
//
// usage: driver URL COMMAND ARGUMENTS...      prints a line a check: see tests/soak/run.py
package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"slices"
	"strings"
	"time"

	"github.com/mark3labs/mcp-go/client"
	"github.com/mark3labs/mcp-go/client/transport"
	mark "github.com/mark3labs/mcp-go/mcp"
	"github.com/modelcontextprotocol/go-sdk/mcp"
)

const message = "h\u00e9llo \"owl\" \U0001f989\n"

var answer = map[string]any{"username": "owl", "email": "owl@example.com"}

// dialogue is a connected client of either library.
type dialogue struct {
	tools func(context.Context) ([]string, error)
	text  func(context.Context, string, map[string]any) (string, error)
	close func() error
}

func official(ctx context.Context, t mcp.Transport) (*dialogue, error) {
	options := &mcp.ClientOptions{
		ElicitationHandler: func(context.Context, *mcp.ElicitRequest) (*mcp.ElicitResult, error) {
			return &mcp.ElicitResult{Action: "accept", Content: answer}, nil
		},
	}
	c := mcp.NewClient(&mcp.Implementation{Name: "soak", Version: "1"}, options)
	s, err := c.Connect(ctx, t, nil)
	if err != nil {
		return nil, err
	}
	tools := func(ctx context.Context) (names []string, err error) {
		for tool, err := range s.Tools(ctx, nil) {
			if err != nil {
				return nil, err
			}
			names = append(names, tool.Name)
		}
		return names, nil
	}
	text := func(ctx context.Context, name string, args map[string]any) (string, error) {
		result, err := s.CallTool(ctx, &mcp.CallToolParams{Name: name, Arguments: args})
		if err != nil {
			return "", err
		}
		content, ok := result.Content[0].(*mcp.TextContent)
		if !ok {
			return "", errors.New("no text")
		}
		return content.Text, nil
	}
	return &dialogue{tools, text, s.Close}, nil
}

type handler struct{}

func (handler) Elicit(context.Context, mark.ElicitationRequest) (*mark.ElicitationResult, error) {
	response := mark.ElicitationResponse{Action: mark.ElicitationResponseActionAccept, Content: answer}
	return &mark.ElicitationResult{ElicitationResponse: response}, nil
}

func markLabs(ctx context.Context, t transport.Interface) (*dialogue, error) {
	c := client.NewClient(t, client.WithElicitationHandler(handler{}))
	if err := c.Start(ctx); err != nil {
		return nil, err
	}
	request := mark.InitializeRequest{}
	request.Params.ProtocolVersion = mark.LATEST_PROTOCOL_VERSION
	request.Params.ClientInfo = mark.Implementation{Name: "soak", Version: "1"}
	if _, err := c.Initialize(ctx, request); err != nil {
		return nil, err
	}
	tools := func(ctx context.Context) (names []string, err error) {
		list, err := c.ListTools(ctx, mark.ListToolsRequest{})
		if err != nil {
			return nil, err
		}
		for _, tool := range list.Tools {
			names = append(names, tool.Name)
		}
		return names, nil
	}
	text := func(ctx context.Context, name string, args map[string]any) (string, error) {
		call := mark.CallToolRequest{}
		call.Params.Name = name
		call.Params.Arguments = args
		result, err := c.CallTool(ctx, call)
		if err != nil {
			return "", err
		}
		content, ok := result.Content[0].(mark.TextContent)
		if !ok {
			return "", errors.New("no text")
		}
		return content.Text, nil
	}
	return &dialogue{tools, text, c.Close}, nil
}

func say(name, what string, right bool, err error) {
	if err == nil && !right {
		err = errors.New("a wrong answer")
	}
	if err != nil {
		fmt.Printf("FAIL %s %s: %v\n", name, what, err)
	} else {
		fmt.Printf("ok %s %s\n", name, what)
	}
}

func run(name string, open func(context.Context) (*dialogue, error)) {
	ctx, cancel := context.WithTimeout(context.Background(), time.Minute)
	defer cancel()
	d, err := open(ctx)
	if err != nil {
		say(name, "connect", false, err)
		return
	}
	names, err := d.tools(ctx)
	say(name, "list", slices.Contains(names, "echo") && slices.Contains(names, "test_elicitation"),
		err)
	got, err := d.text(ctx, "echo", map[string]any{"message": message})
	say(name, "call", got == message, err)
	got, err = d.text(ctx, "test_elicitation", map[string]any{"message": "Who?"})
	say(name, "elicit", strings.Contains(got, `"username":"owl"`), err)
	if err = d.close(); err != nil {
		say(name, "close", false, err)
	}
}

func main() {
	url, command, args := os.Args[1], os.Args[2], os.Args[3:]
	run("go-sdk http", func(ctx context.Context) (*dialogue, error) {
		return official(ctx, &mcp.StreamableClientTransport{Endpoint: url})
	})
	run("go-sdk stdio", func(ctx context.Context) (*dialogue, error) {
		return official(ctx, &mcp.CommandTransport{Command: exec.Command(command, args...)})
	})
	run("mcp-go http", func(ctx context.Context) (*dialogue, error) {
		t, err := transport.NewStreamableHTTP(url, transport.WithContinuousListening())
		if err != nil {
			return nil, err
		}
		return markLabs(ctx, t)
	})
	run("mcp-go stdio", func(ctx context.Context) (*dialogue, error) {
		return markLabs(ctx, transport.NewStdio(command, nil, args...))
	})
}
