// An agent of the AI SDK that runs a tool loop over two turns, over the chat API
// and over the Responses API, which the library takes by default.
import { createOpenAI } from '@ai-sdk/openai';
import { stepCountIs, tool, ToolLoopAgent } from 'ai';
import { z } from 'zod';

const weather = tool({
  description: 'Says what the weather is like in a city.',
  inputSchema: z.object({ city: z.string() }),
  execute: async ({ city }) => `The sky over ${city} has clouds.`,
});

export async function run(session) {
  const openai = createOpenAI({ headers: session.headers });
  const agent = new ToolLoopAgent({
    model: session.api === 'chat' ? openai.chat(session.model) : openai(session.model),
    instructions: 'You are terse.',
    tools: { weather },
    stopWhen: stepCountIs(5),
    maxRetries: 0,
  });
  const messages = [];
  for (const content of [session.question, 'And in 東京?']) {
    messages.push({ role: 'user', content });
    const turn = await (session.api === 'chat' ? streamed(agent, messages) : agent.generate({ messages }));
    messages.push(...turn.response.messages);
    for (const step of turn.steps) {
      session.saw(
        { content: step.content, usage: step.usage },
        { id: step.response.id, text: step.text || null, total_tokens: step.usage.totalTokens },
      );
    }
  }
}

async function streamed(agent, messages) {
  const result = await agent.stream({ messages });
  await result.consumeStream();
  return { response: await result.response, steps: await result.steps };
}
