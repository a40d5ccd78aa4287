// Scenarios of the Ollama library for JavaScript.
import { Ollama } from 'ollama';

export async function run(session) {
  const client = new Ollama({ host: process.env.OLLAMA_HOST, headers: session.headers });
  const asked = {
    model: session.model,
    messages: [
      { role: 'system', content: 'You are terse.' },
      { role: 'user', content: session.question },
    ],
  };
  if (session.name === 'ollama.text') {
    const reply = await client.chat(asked);
    session.saw(reply, { text: reply.message.content, finish_reason: reply.done_reason });
    return;
  }
  const parts = [];
  for await (const part of await client.chat({ ...asked, stream: true })) parts.push(part);
  session.saw(parts, {
    text: parts.map((p) => p.message.content).join(''),
    finish_reason: parts.at(-1).done_reason,
  });
}
