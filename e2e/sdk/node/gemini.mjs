// Scenarios of Google's Gen AI SDK for JavaScript.
import { GoogleGenAI } from '@google/genai';

export async function run(session) {
  const client = new GoogleGenAI({
    apiKey: process.env.GEMINI_API_KEY,
    httpOptions: { baseUrl: process.env.GOOGLE_GEMINI_BASE_URL, headers: session.headers },
  });
  const asked = {
    model: session.model,
    contents: session.question,
    config: { systemInstruction: 'You are terse.' },
  };
  const parts = [];
  if (session.name === 'gemini.text') {
    parts.push(await client.models.generateContent(asked));
  } else {
    for await (const part of await client.models.generateContentStream(asked)) parts.push(part);
  }
  const last = parts.at(-1);
  session.saw(
    parts.map((p) => ({ ...p, sdkHttpResponse: undefined })),
    {
      id: last.responseId,
      text: parts.map((p) => p.text).join(''),
      finish_reason: last.candidates[0].finishReason,
      total_tokens: last.usageMetadata.totalTokenCount,
    },
  );
}
