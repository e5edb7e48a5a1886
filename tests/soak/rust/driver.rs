//! What the official Rust SDK does with a server: list, call, elicit.
//!
//! usage: driver URL COMMAND ARGUMENTS...      prints a line a check: see tests/soak/run.py

use std::time::Duration;

use anyhow::{anyhow, bail, Result};
use rmcp::{
    model::*,
    service::{ClientLifecycleMode, ClientServiceExt, RequestContext, RoleClient, RunningService},
    transport::{StreamableHttpClientTransport, TokioChildProcess},
    ClientHandler, ErrorData,
};
use serde_json::json;

const MESSAGE: &str = "h\u{e9}llo \"owl\" \u{1f989}\n";

#[derive(Clone)]
struct Client;

impl ClientHandler for Client {
    fn get_info(&self) -> ClientConfig {
        let capabilities = ClientCapabilities::builder().enable_elicitation().build();
        ClientConfig::new(capabilities, Implementation::new("soak", "1"))
    }

    async fn create_elicitation(
        &self,
        _: ElicitRequestParams,
        _: RequestContext<RoleClient>,
    ) -> Result<ElicitResult, ErrorData> {
        let answer = json!({"username": "owl", "email": "owl@example.com"});
        Ok(ElicitResult::new(ElicitationAction::Accept).with_content(answer))
    }
}

type Session = RunningService<RoleClient, Client>;

async fn text(
    session: &Session,
    tool: &'static str,
    arguments: serde_json::Value,
) -> Result<String> {
    let arguments = arguments.as_object().cloned().unwrap_or_default();
    let params = CallToolRequestParams::new(tool).with_arguments(arguments);
    let result = session.call_tool(params).await?;
    let first = result.content.first().and_then(|content| content.as_text());
    Ok(first.ok_or(anyhow!("no text"))?.text.clone())
}

async fn list(session: &Session) -> Result<bool> {
    let tools = session.list_all_tools().await?;
    let has = |name: &str| tools.iter().any(|tool| tool.name == name);
    Ok(has("echo") && has("test_elicitation"))
}

async fn call(session: &Session) -> Result<bool> {
    Ok(text(session, "echo", json!({"message": MESSAGE})).await? == MESSAGE)
}

async fn elicit(session: &Session) -> Result<bool> {
    let answer = text(session, "test_elicitation", json!({"message": "Who?"})).await?;
    Ok(answer.contains("\"username\":\"owl\""))
}

fn say(name: &str, what: &str, outcome: Result<bool>) {
    match outcome {
        Ok(true) => println!("ok {name} {what}"),
        Ok(false) => println!("FAIL {name} {what}: a wrong answer"),
        Err(error) => println!("FAIL {name} {what}: {error:#}"),
    }
}

async fn run(name: &str, transport: &str, mode: ClientLifecycleMode) -> Result<()> {
    let args: Vec<String> = std::env::args().skip(1).collect();
    let [url, command, rest @ ..] = args.as_slice() else {
        bail!("usage: driver URL COMMAND ARGUMENTS...");
    };
    let session = if transport == "http" {
        let http = StreamableHttpClientTransport::from_uri(url.clone());
        Client.serve_with_lifecycle(http, mode).await?
    } else {
        let mut server = tokio::process::Command::new(command);
        server.args(rest);
        Client.serve_with_lifecycle(TokioChildProcess::new(server)?, mode).await?
    };
    say(name, "list", list(&session).await);
    say(name, "call", call(&session).await);
    say(name, "elicit", elicit(&session).await);
    session.cancel().await?;
    Ok(())
}

#[tokio::main]
async fn main() {
    let auto = ClientLifecycleMode::Auto {
        preferred_versions: vec![ProtocolVersion::LATEST],
        legacy_version: None,
    };
    for (mode, lifecycle) in [("legacy", ClientLifecycleMode::Initialize), ("auto", auto)] {
        for transport in ["http", "stdio"] {
            let name = format!("rmcp {mode} {transport}");
            let work = run(&name, transport, lifecycle.clone());
            match tokio::time::timeout(Duration::from_secs(60), work).await {
                Ok(Ok(())) => (),
                Ok(Err(error)) => say(&name, "connect", Err(error)),
                Err(_) => say(&name, "connect", Err(anyhow!("timed out"))),
            }
        }
    }
}
