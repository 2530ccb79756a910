// Usage: node make-model.mjs FILE
// Writes a language model as small as llama.cpp accepts: the architecture of LLaMA
// with two layers of 64 dimensions, a vocabulary of bytes and ASCII characters, and
// weights from a seeded generator. It is a real model that has learnt nothing: it
// computes, but what it says is noise. The format is GGUF, version 3.

import { writeFileSync } from "node:fs";

const [file] = process.argv.slice(2);
const dimensions = 64;
const hidden = 128;
const layers = 2;
const heads = 4;
const alignment = 32;

// The vocabulary: three marks, every byte, and the characters that a prompt has.
const kinds = { normal: 1, unknown: 2, control: 3, byte: 6 };
const vocabulary = [["<unk>", kinds.unknown], ["<s>", kinds.control], ["</s>", kinds.control]];
for (let byte = 0; byte < 256; byte++) {
  vocabulary.push([`<0x${byte.toString(16).toUpperCase().padStart(2, "0")}>`, kinds.byte]);
}
for (const character of "\u2581abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789+?.") {
  vocabulary.push([character, kinds.normal]);
}

// Types of metadata, as GGUF numbers them.
const u32 = (value) => [4, bytes(4, (view) => view.setUint32(0, value, true))];
const f32 = (value) => [6, bytes(4, (view) => view.setFloat32(0, value, true))];
const text = (value) => [8, string(value)];
const list = (values) => [9, Buffer.concat([u32(values[0][0])[1], u64(values.length), ...values.map(([, raw]) => raw)])];
const i32 = (value) => [5, bytes(4, (view) => view.setInt32(0, value, true))];

function bytes(size, write) {
  const view = new DataView(new ArrayBuffer(size));
  write(view);
  return Buffer.from(view.buffer);
}

function u64(value) {
  return bytes(8, (view) => view.setBigUint64(0, BigInt(value), true));
}

function string(value) {
  const raw = Buffer.from(value, "utf8");
  return Buffer.concat([u64(raw.length), raw]);
}

const metadata = {
  "general.architecture": text("llama"),
  "general.name": text("noise"),
  "general.alignment": u32(alignment),
  "llama.vocab_size": u32(vocabulary.length),
  "llama.context_length": u32(512),
  "llama.embedding_length": u32(dimensions),
  "llama.block_count": u32(layers),
  "llama.feed_forward_length": u32(hidden),
  "llama.rope.dimension_count": u32(dimensions / heads),
  "llama.attention.head_count": u32(heads),
  "llama.attention.head_count_kv": u32(heads),
  "llama.attention.layer_norm_rms_epsilon": f32(1e-5),
  "tokenizer.ggml.model": text("llama"),
  "tokenizer.ggml.tokens": list(vocabulary.map(([piece]) => text(piece))),
  "tokenizer.ggml.scores": list(vocabulary.map((_, index) => f32(-index))),
  "tokenizer.ggml.token_type": list(vocabulary.map(([, kind]) => i32(kind))),
  "tokenizer.ggml.bos_token_id": u32(1),
  "tokenizer.ggml.eos_token_id": u32(2),
  "tokenizer.ggml.unknown_token_id": u32(0),
};

// Tensors by name, with their sizes from the innermost dimension on.
const tensors = {
  "token_embd.weight": [dimensions, vocabulary.length],
  "output_norm.weight": [dimensions],
  "output.weight": [dimensions, vocabulary.length],
};
for (let layer = 0; layer < layers; layer++) {
  Object.assign(tensors, {
    [`blk.${layer}.attn_norm.weight`]: [dimensions],
    [`blk.${layer}.attn_q.weight`]: [dimensions, dimensions],
    [`blk.${layer}.attn_k.weight`]: [dimensions, dimensions],
    [`blk.${layer}.attn_v.weight`]: [dimensions, dimensions],
    [`blk.${layer}.attn_output.weight`]: [dimensions, dimensions],
    [`blk.${layer}.ffn_norm.weight`]: [dimensions],
    [`blk.${layer}.ffn_gate.weight`]: [dimensions, hidden],
    [`blk.${layer}.ffn_up.weight`]: [dimensions, hidden],
    [`blk.${layer}.ffn_down.weight`]: [hidden, dimensions],
  });
}

// A generator of numbers from -1 to 1 that are the same each time (mulberry32).
let state = 7;
function noise() {
  state = (state + 0x6d2b79f5) | 0;
  let mixed = Math.imul(state ^ (state >>> 15), 1 | state);
  mixed = (mixed + Math.imul(mixed ^ (mixed >>> 7), 61 | mixed)) ^ mixed;
  return (((mixed ^ (mixed >>> 14)) >>> 0) / 2 ** 31) - 1;
}

function weights(name, sizes) {
  const values = new Float32Array(sizes.reduce((product, size) => product * size, 1));
  const isNorm = sizes.length === 1;
  return Buffer.from(values.map(() => (isNorm ? 1 : noise() / 8)).buffer);
}

const padding = (length) => Buffer.alloc((alignment - (length % alignment)) % alignment);

const head = [Buffer.from("GGUF"), u32(3)[1], u64(Object.keys(tensors).length), u64(Object.keys(metadata).length)];
for (const [key, [kind, raw]] of Object.entries(metadata)) {
  head.push(string(key), u32(kind)[1], raw);
}
const data = [];
let offset = 0;
for (const [name, sizes] of Object.entries(tensors)) {
  const raw = weights(name, sizes);
  head.push(string(name), u32(sizes.length)[1], ...sizes.map(u64), u32(0)[1], u64(offset)); // 0 is F32
  data.push(raw, padding(raw.length));
  offset += raw.length + padding(raw.length).length;
}
const header = Buffer.concat(head);
writeFileSync(file, Buffer.concat([header, padding(header.length), ...data]));
