// Scenarios of the OpenAI SDK for JavaScript.
import OpenAI from 'openai';

const parameters = { type: 'object', properties: { city: { type: 'string' } } };
const functions = ['weather', 'clock'].map((name) => ({ name, description: 'Looks something up.', parameters }));
const tools = functions.map((f) => ({ type: 'function', function: f }));
const responseTools = functions.map((f) => ({ type: 'function', strict: false, ...f }));
const hostedTools = [
  { type: 'web_search' },
  { type: 'file_search', vector_store_ids: ['vs_1'] },
  { type: 'code_interpreter', container: { type: 'auto' } },
];

export async function run(session) {
  const client = new OpenAI({ maxRetries: 0, timeout: 60_000, defaultHeaders: session.headers });
  try {
    await { chat, responses, embeddings }[session.api](client, session);
  } catch (e) {
    if (e instanceof OpenAI.APIError && e.status) {
      session.saw(e.constructor.name, {
        status: e.status,
        error: e.error?.message,
        retry_after: e.headers.get('retry-after'),
      });
    } else {
      session.saw(e.constructor.name, { broken: true });
    }
  }
}

async function chat(client, session) {
  const messages = [
    { role: 'system', content: 'You are terse.' },
    { role: 'user', content: session.question },
  ];
  const ask = (more) => client.chat.completions.create({ model: session.model, messages, ...more });
  const stream = { stream: true, stream_options: { include_usage: true } };
  switch (session.name) {
    case 'chat.tools': {
      const { message } = sawCompletion(session, await ask({ tools })).choices[0];
      messages.push({ role: message.role, content: message.content, tool_calls: message.tool_calls });
      for (const call of message.tool_calls) {
        messages.push({ role: 'tool', tool_call_id: call.id, content: 'rain, 9 °C' });
      }
      sawCompletion(session, await ask({ tools }));
      break;
    }
    case 'chat.parallel_tools':
      await gather(session, await ask({ tools, parallel_tool_calls: true, ...stream }));
      break;
    case 'chat.stream':
    case 'chat.cut':
      await gather(session, await ask(stream));
      break;
    case 'chat.leave':
      await gather(session, await ask(stream), 3);
      break;
    default:
      sawCompletion(session, await ask());
  }
}

function sawCompletion(session, reply) {
  const { message, finish_reason } = reply.choices[0];
  session.saw(reply, {
    id: reply.id,
    text: message.content,
    finish_reason,
    tool_calls: (message.tool_calls ?? []).map((c) => ({ id: c.id, ...c.function })),
    total_tokens: reply.usage?.total_tokens,
  });
  return reply;
}

async function gather(session, stream, stopAfter = Infinity) {
  const whole = [];
  const seen = { id: null, text: null, finish_reason: null, tool_calls: [], total_tokens: null };
  for await (const chunk of stream) {
    whole.push(chunk);
    seen.id = chunk.id;
    seen.total_tokens = chunk.usage?.total_tokens ?? seen.total_tokens;
    for (const { delta, finish_reason } of chunk.choices) {
      if (delta.content != null) seen.text = (seen.text ?? '') + delta.content;
      for (const part of delta.tool_calls ?? []) {
        const call = (seen.tool_calls[part.index] ??= { id: part.id, name: part.function.name, arguments: '' });
        call.arguments += part.function.arguments ?? '';
      }
      seen.finish_reason = finish_reason ?? seen.finish_reason;
    }
    if (whole.length >= stopAfter) break; // leaving the loop aborts the request
  }
  session.saw(whole, seen);
}

async function responses(client, session) {
  const ask = (input, more) => client.responses.create({ model: session.model, input, ...more });
  const { question } = session;
  const reasoning = { effort: 'low', summary: 'auto' };
  switch (session.name) {
    case 'responses.tools': {
      const more = { instructions: 'You are terse.', tools: responseTools };
      const first = await sawEvents(session, await ask(question, { ...more, stream: true }));
      const results = first.output.map((item) => ({
        type: 'function_call_output',
        call_id: item.call_id,
        output: `${item.name}: rain, noon`,
      }));
      sawResponse(session, await ask([{ role: 'user', content: question }, ...first.output, ...results], more));
      break;
    }
    case 'responses.chain': {
      const { id } = sawResponse(session, await ask(question));
      sawResponse(session, await ask('What is your name?', { previous_response_id: id }));
      break;
    }
    case 'responses.hosted':
      sawResponse(session, await ask(question, { tools: hostedTools, include: ['web_search_call.action.sources'] }));
      break;
    case 'responses.hosted_stream':
      await sawEvents(session, await ask(question, { tools: hostedTools, stream: true }));
      break;
    case 'responses.incomplete':
      sawResponse(session, await ask(question, { max_output_tokens: 16 }));
      break;
    case 'responses.incomplete_stream':
      await sawEvents(session, await ask(question, { max_output_tokens: 16, stream: true }));
      break;
    case 'responses.stream':
    case 'responses.failed':
      await sawEvents(session, await ask(question, { reasoning, stream: true }));
      break;
    default:
      sawResponse(session, await ask(question, { reasoning }));
  }
}

function sawResponse(session, reply, whole = reply) {
  session.saw(whole, {
    id: reply.id,
    text: reply.output_text || textOf(reply),
    finish_reason: reply.incomplete_details?.reason ?? reply.status,
    tool_calls: reply.output
      .filter((item) => item.type === 'function_call')
      .map(({ call_id: id, name, arguments: args }) => ({ id, name, arguments: args })),
    total_tokens: reply.usage?.total_tokens,
  });
  return reply;
}

// textOf joins the texts of an answer whose output_text is not filled in, as in
// events.
function textOf(reply) {
  const parts = reply.output.flatMap((item) => (item.type === 'message' ? item.content : []));
  return parts.map((p) => p.text ?? '').join('') || null;
}

async function sawEvents(session, stream) {
  const events = [];
  for await (const event of stream) events.push(event);
  return sawResponse(session, events.at(-1).response, events);
}

async function embeddings(client, session) {
  const input = [session.question, 'second text'];
  const more = session.name === 'embeddings.float' ? { encoding_format: 'float' } : {};
  const reply = await client.embeddings.create({ model: session.model, input, ...more });
  session.saw(reply, {
    total_tokens: reply.usage.total_tokens,
    vectors: reply.data.length,
    dimensions: reply.data[0].embedding.length,
  });
}
