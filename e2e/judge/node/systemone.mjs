// Sends each request of a JSON list through the official TypeSafe library, and
// prints what it got back.
import { readFileSync } from "node:fs";
import { TypeSafeClient } from "@typesafe-ai/sdk";

const client = new TypeSafeClient({ retry: { maxRetries: 0 } });
const out = [];
for (const request of JSON.parse(readFileSync(0, "utf8"))) {
  try {
    const { data, requestId } = await client.systemOne(request).withResponse();
    out.push({
      model: data.model,
      input_tokens: data.usage.input_tokens,
      request_id: requestId,
      answers: Object.entries(data.answers).map(([name, a]) => ({ name, ...a, probability: a.noul })),
    });
  } catch (e) {
    out.push({ raised: e.constructor.name, status: e.status, message: e.message });
  }
}
console.log(JSON.stringify(out));
