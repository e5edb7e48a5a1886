/* codec/visible.c - text from elsewhere, as a terminal may get it.
 * Threads: pure. */
#include "codec/visible.h"

uint32_t owl_text_next(owl_str *text)
{
    static const uint32_t least[] = {0, 0, 0x80, 0x800, 0x10000};
    const unsigned char *u = (const unsigned char *)text->p;
    size_t n = u[0] < 0x80 ? 1 : u[0] < 0xc2 ? 0 : u[0] < 0xe0 ? 2 : u[0] < 0xf0 ? 3 : 4;
    uint32_t c = n == 1 ? u[0] : u[0] & (0x7fu >> n);
    bool good = n > 0 && n <= text->n;
    for (size_t i = 1; good && i < n; i++) {
        good = (u[i] & 0xc0) == 0x80;
        c = c << 6 | (u[i] & 0x3f);
    }
    good = good && c >= least[n] && c <= 0x10ffff && (c < 0xd800 || c > 0xdfff);
    *text = (owl_str){text->p + (good ? n : 1), text->n - (good ? n : 1)};
    return good ? c : 0xfffd;
}

bool owl_text_unsafe(uint32_t c)
{
    static const struct {
        uint32_t first, last;
    } ranges[] = {{0x00, 0x1f},     {0x7f, 0x9f},     {0x61c, 0x61c},
                  {0x200b, 0x200f}, {0x2028, 0x202e}, {0x2060, 0x206f},
                  {0xfeff, 0xfeff}, {0xfff9, 0xfffb}, {0xe0000, 0xe007f}};
    for (size_t i = 0; i < OWL_COUNT(ranges) && c >= ranges[i].first; i++) {
        if (c <= ranges[i].last)
            return true;
    }
    return false;
}

void owl_put_visible(struct owl_buf *b, owl_str text)
{
    while (text.n > 0) {
        const char *from = text.p;
        uint32_t c = owl_text_next(&text);
        if (c == '\t' || c == '\n')
            owl_buf_putc(b, ' ');
        else if (c == 0xfffd || owl_text_unsafe(c))
            owl_buf_putz(b, "\xef\xbf\xbd");
        else
            owl_buf_put(b, from, (size_t)(text.p - from));
    }
}
