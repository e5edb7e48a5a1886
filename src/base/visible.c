/* codec/visible.c - text from elsewhere, as a terminal may get it.
 * Threads: pure. */
#include "base/visible.h"

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

struct range {
    uint32_t first, last;
};

static bool among(uint32_t c, const struct range *ranges, size_t n)
{
    for (size_t i = 0; i < n && c >= ranges[i].first; i++) {
        if (c <= ranges[i].last)
            return true;
    }
    return false;
}

bool owl_text_unsafe(uint32_t c)
{
    static const struct range ranges[] = {{0x00, 0x1f},     {0x7f, 0x9f},     {0x61c, 0x61c},
                                          {0x200b, 0x200f}, {0x2028, 0x202e}, {0x2060, 0x206f},
                                          {0xfeff, 0xfeff}, {0xfff9, 0xfffb}, {0xe0000, 0xe007f}};
    return among(c, ranges, OWL_COUNT(ranges));
}

size_t owl_text_columns(uint32_t c)
{
    /* Marks that are written over the character before them, and what joins characters. */
    static const struct range none[] = {
        {0x300, 0x36f},   {0x483, 0x489},   {0x591, 0x5bd},     {0x610, 0x61a},
        {0x64b, 0x65f},   {0x6d6, 0x6dc},   {0x93a, 0x93c},     {0x941, 0x948},
        {0xe31, 0xe31},   {0xe34, 0xe3a},   {0xe47, 0xe4e},     {0x1ab0, 0x1aff},
        {0x1dc0, 0x1dff}, {0x20d0, 0x20f0}, {0x302a, 0x302d},   {0x3099, 0x309a},
        {0xfe00, 0xfe0f}, {0xfe20, 0xfe2f}, {0x1f3fb, 0x1f3ff}, {0xe0100, 0xe01ef}};
    /* East Asian Wide and Fullwidth, and what is shown as a picture. */
    static const struct range two[] = {{0x1100, 0x115f},   {0x231a, 0x231b},   {0x2e80, 0x303e},
                                       {0x3041, 0xa4cf},   {0xa960, 0xa97f},   {0xac00, 0xd7a3},
                                       {0xf900, 0xfaff},   {0xfe30, 0xfe6f},   {0xff01, 0xff60},
                                       {0xffe0, 0xffe6},   {0x16fe0, 0x18aff}, {0x1b000, 0x1b2ff},
                                       {0x1f300, 0x1f64f}, {0x1f680, 0x1f6ff}, {0x1f900, 0x1f9ff},
                                       {0x1fa70, 0x1faff}, {0x20000, 0x3fffd}};
    if (c < 0x300 || owl_text_unsafe(c))
        return 1;
    return among(c, none, OWL_COUNT(none)) ? 0 : among(c, two, OWL_COUNT(two)) ? 2 : 1;
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

size_t owl_text_tame(char *text, size_t n, bool cut)
{
    size_t length = 0;
    for (owl_str rest = {text, n}; rest.n > 0;) {
        const char *from = rest.p;
        uint32_t c = owl_text_next(&rest);
        size_t bytes = (size_t)(rest.p - from);
        bool broken = c == 0xfffd && bytes == 1;
        if (cut && broken && rest.n < 3)
            break;
        if (c == '\t' || c == '\n' || c == '\r') {
            text[length++] = ' ';
        } else if (broken || owl_text_unsafe(c)) {
            text[length++] = '?';
        } else {
            memmove(text + length, from, bytes);
            length += bytes;
        }
    }
    return length;
}
