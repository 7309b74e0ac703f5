/* Reference-counted blocks with a memory limit. A header precedes the data. */

typedef struct br_header {
    u64 references;
    u64 bytes;
    u64 slots;
    u64 rest[5];
} br_header;

/* The reference count of constant data, whose header is never written. */
#define BR_STATIC ((u64)1 << 62)
#define BR_CONSTANT {BR_STATIC, 0, 0, {0}}

static void br_unref(br_ctx *ctx, u8 *block);

static BR_COLD void br_no_memory(br_ctx *ctx, i64 bytes, const br_check *span, bool limited) {
    br_text *message = br_fails(ctx, span == NULL ? "" : span->location, false);
    if (message == NULL) return;
    if (bytes < 0) {
        br_puts(message, "the size of an array in bytes does not fit into 63 bits.");
        return;
    }
    br_putf(message, "out of memory: cannot allocate %" PRId64 " bytes with %" PRIu64 " bytes in use; ",
            bytes, ctx->live);
    if (limited) br_putf(message, "the limit is %" PRIu64 " bytes.", ctx->limit);
    else br_puts(message, "the system has no more.");
}

/* Allocates a block; null on failure. `old` is released first. */
static u8 *br_alloc(br_ctx *ctx, u8 *old, i64 bytes, const br_check *span) {
    br_unref(ctx, old);
    ctx->blocks++;
    if (BR_UNLIKELY(bytes < 0)) {
        br_no_memory(ctx, bytes, span, true);
        return NULL;
    }
    u64 total = (u64)bytes + sizeof(br_header);
    bool fits = ctx->live <= ctx->limit && total <= ctx->limit - ctx->live;
    br_header *header = fits && total <= SIZE_MAX ? malloc((size_t)total) : NULL;
    if (BR_UNLIKELY(header == NULL)) {
        br_no_memory(ctx, bytes, span, !fits);
        return NULL;
    }
    ctx->bytes += (u64)bytes;
    ctx->live += total;
    if (ctx->live > ctx->peak) ctx->peak = ctx->live;
    header->references = 1;
    header->bytes = total;
    header->slots = 0;
    return (u8 *)(header + 1);
}

/* Allocates a block of `count` empty slots. */
static inline u8 *br_slots(br_ctx *ctx, u8 *old, i64 count, const br_check *span) {
    i64 bytes = count < 0 || count > INT64_MAX / (i64)sizeof(u8 *) ? -1 : count * (i64)sizeof(u8 *);
    u8 *block = br_alloc(ctx, old, bytes, span);
    if (block != NULL) {
        ((br_header *)block)[-1].slots = (u64)count;
        for (i64 i = 0; i < count; i++) ((slot_m *)block)[i] = NULL;
    }
    return block;
}

static BR_COLD void br_free(br_ctx *ctx, br_header *header) {
    u8 *block = (u8 *)(header + 1);
    for (u64 i = 0; i < header->slots; i++) br_unref(ctx, ((slot_m *)block)[i]);
    ctx->live -= header->bytes;
    free(header);
}
/* Releases a reference; null is ignored. */
static void br_unref(br_ctx *ctx, u8 *block) {
    if (block == NULL) return;
    br_header *header = (br_header *)block - 1;
    if (header->references >= BR_STATIC) return;
    if (--header->references == 0) br_free(ctx, header);
}
/* Adds a reference to `block`; `old`, which it replaces, is released. */
static inline u8 *br_share(br_ctx *ctx, u8 *old, u8 *block) {
    if (block != NULL) {
        br_header *header = (br_header *)block - 1;
        if (header->references < BR_STATIC) header->references++;
    }
    br_unref(ctx, old);
    return block;
}
