// Drives the unmodified OpenAI SDK through one scenario and prints what the
// application saw, as one line of JSON.
//
//     client.mjs SCENARIO TRACEPARENT
//
// OPENAI_BASE_URL and OPENAI_API_KEY come from the environment, as for any
// application.
import OpenAI from 'openai';

const tools = ['weather', 'clock'].map((name) => ({
  type: 'function',
  function: {
    name,
    description: 'Looks something up.',
    parameters: { type: 'object', properties: { city: { type: 'string' } } },
  },
}));

const [scenario, traceparent] = process.argv.slice(2);
const client = new OpenAI({ maxRetries: 0, timeout: 30_000 });

function ask(more = {}) {
  return client.chat.completions.create(
    {
      model: `scripted-${scenario}`,
      messages: [
        { role: 'system', content: 'You are terse.' },
        { role: 'user', content: `node ${scenario}: Grüße, 世界 👋` },
      ],
      ...more,
    },
    { headers: { traceparent, 'Docket-Conversation-Id': `node-${scenario}` } },
  );
}

function whole(reply) {
  const { message, finish_reason } = reply.choices[0];
  return {
    id: reply.id,
    text: message.content,
    finish_reason,
    tool_calls: (message.tool_calls ?? []).map((c) => ({
      id: c.id,
      name: c.function.name,
      arguments: c.function.arguments,
    })),
    total_tokens: reply.usage?.total_tokens ?? null,
  };
}

async function gather(stream, stopAfter = Infinity) {
  const seen = { id: null, text: null, finish_reason: null, tool_calls: [], total_tokens: null, chunks: 0 };
  for await (const chunk of stream) {
    seen.chunks++;
    seen.id = chunk.id;
    if (chunk.usage) seen.total_tokens = chunk.usage.total_tokens;
    for (const choice of chunk.choices) {
      if (choice.delta.content != null) seen.text = (seen.text ?? '') + choice.delta.content;
      for (const part of choice.delta.tool_calls ?? []) {
        const call = (seen.tool_calls[part.index] ??= { id: null, name: null, arguments: '' });
        call.id = part.id ?? call.id;
        call.name = part.function?.name ?? call.name;
        call.arguments += part.function?.arguments ?? '';
      }
      seen.finish_reason = choice.finish_reason ?? seen.finish_reason;
    }
    if (seen.chunks >= stopAfter) break; // leaving the loop aborts the request
  }
  return seen;
}

async function run() {
  const stream = { stream: true, stream_options: { include_usage: true } };
  switch (scenario) {
    case 'text':
    case 'bad_request':
    case 'rate_limited':
      return whole(await ask());
    case 'tools':
      return whole(await ask({ tools }));
    case 'stream':
    case 'cut':
      return gather(await ask(stream));
    case 'parallel_tools':
      return gather(await ask({ ...stream, tools, parallel_tool_calls: true }));
    case 'leave':
      return gather(await ask(stream), 3);
    default:
      throw new Error(`unknown scenario ${scenario}`);
  }
}

let seen;
try {
  seen = await run();
} catch (e) {
  if (e instanceof OpenAI.APIError && e.status) {
    seen = {
      raised: e.constructor.name,
      status: e.status,
      message: e.error?.message ?? null,
      retry_after: e.headers?.get('retry-after') ?? null,
    };
  } else {
    seen = { raised: e.constructor.name };
  }
}
console.log(JSON.stringify(seen));
