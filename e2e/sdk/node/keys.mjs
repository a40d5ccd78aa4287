// Calls Gemini's preset with the gateway key of the first argument, through the proxy of the second.
import { ApiError, GoogleGenAI } from '@google/genai';

const [key, proxy] = process.argv.slice(2);
const client = new GoogleGenAI({ apiKey: key, httpOptions: { baseUrl: `${proxy}/gemini` } });
const outcome = await client.models
  .generateContent({ model: 'small', contents: 'hi' })
  .then((answer) => answer.text)
  .catch((error) => {
    if (error instanceof ApiError && error.status === 401) return JSON.parse(error.message).error.status;
    throw error;
  });
console.log(JSON.stringify({ gemini: outcome }));
