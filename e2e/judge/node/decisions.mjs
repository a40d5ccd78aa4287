// Sends each request of a JSON list through the official OpenAI library, and
// prints what it got back.
import { readFileSync } from "node:fs";
import OpenAI from "openai";

const client = new OpenAI({ maxRetries: 0 });
const out = [];
for (const request of JSON.parse(readFileSync(0, "utf8"))) {
  const got = await client.decisions.create(request);
  out.push({ model: got.model, input_tokens: got.usage.input_tokens, answers: got.answers });
}
console.log(JSON.stringify(out));
