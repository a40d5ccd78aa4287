// Scenarios of the Anthropic SDK for JavaScript.
import Anthropic from '@anthropic-ai/sdk';

const tools = ['weather', 'clock'].map((name) => ({
  name,
  description: 'Looks something up.',
  input_schema: { type: 'object', properties: { city: { type: 'string' } } },
}));

export async function run(session) {
  const client = new Anthropic({ maxRetries: 0, timeout: 60_000, defaultHeaders: session.headers });
  try {
    await messages(client, session);
  } catch (e) {
    if (!(e instanceof Anthropic.APIError)) throw e;
    // An error event in a stream has no status of its own.
    session.saw(e.constructor.name, {
      status: e.status,
      error: e.error?.error?.message,
      retry_after: e.headers?.get('retry-after'),
    });
  }
}

async function messages(client, session) {
  const said = [{ role: 'user', content: session.question }];
  const asked = { model: session.model, max_tokens: 2048, system: 'You are terse.', messages: said };
  switch (session.name) {
    case 'messages.tools': {
      const { content } = sawMessage(session, await client.messages.create({ ...asked, tools }));
      const results = content
        .filter((b) => b.type === 'tool_use')
        .map((b) => ({ type: 'tool_result', tool_use_id: b.id, content: [{ type: 'text', text: 'rain, 9 °C' }] }));
      said.push({ role: 'assistant', content }, { role: 'user', content: results });
      sawMessage(session, await client.messages.create({ ...asked, tools }));
      break;
    }
    case 'messages.stream':
    case 'messages.stream_error':
      await gather(session, client.messages.stream(asked));
      break;
    case 'messages.tool_stream':
      await gather(session, client.messages.stream({ ...asked, tools }));
      break;
    case 'messages.thinking':
      await gather(session, client.messages.stream({ ...asked, thinking: { type: 'enabled', budget_tokens: 1024 } }));
      break;
    default:
      sawMessage(session, await client.messages.create(asked));
  }
}

async function gather(session, stream) {
  const events = [];
  for await (const event of stream) events.push(structuredClone(event));
  sawMessage(session, await stream.finalMessage(), events);
}

function sawMessage(session, reply, whole = reply) {
  const join = (type, field) =>
    reply.content
      .filter((b) => b.type === type)
      .map((b) => b[field])
      .join('');
  session.saw(whole, {
    id: reply.id,
    text: join('text', 'text'),
    reasoning: join('thinking', 'thinking') || null,
    finish_reason: reply.stop_reason,
    tool_calls: reply.content
      .filter((b) => b.type === 'tool_use')
      .map((b) => ({ id: b.id, name: b.name, arguments: JSON.stringify(b.input) })),
  });
  return reply;
}
