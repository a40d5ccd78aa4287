// Drives unmodified client libraries through scenarios.
//
// Reads a list of {"client", "scenario", "traceparent"} as JSON from its input
// and prints a list of {"client", "scenario", "calls", "whole"}: what the
// application saw of each call in the words that all libraries share, and all
// that the library gave it. Base URLs and keys come from the environment, as for
// any application.
import { text } from 'node:stream/consumers';

import * as agent from './agent.mjs';
import * as anthropic from './anthropic.mjs';
import * as gemini from './gemini.mjs';
import * as ollama from './ollama.mjs';
import * as openai from './openai.mjs';

const libraries = {
  'openai-node': openai,
  'anthropic-node': anthropic,
  'ollama-node': ollama,
  'gemini-node': gemini,
  vercel: agent,
};

// Session is one scenario: what is asked, and what came of it.
class Session {
  calls = [];
  whole = [];

  constructor({ client, scenario, traceparent }) {
    this.name = scenario;
    this.api = scenario.slice(0, scenario.indexOf('.'));
    this.model = `scripted-${scenario.slice(this.api.length + 1)}`;
    this.question = `${client} ${scenario}: Grüße, 世界 👋`;
    this.headers = { traceparent };
  }

  // saw notes one call; null stands for what the application did not get.
  saw(whole, call) {
    this.calls.push(Object.fromEntries(Object.entries(call).filter(([, v]) => v != null)));
    this.whole.push(whole);
  }
}

const out = [];
for (const work of JSON.parse(await text(process.stdin))) {
  const session = new Session(work);
  await libraries[work.client].run(session);
  out.push({ ...work, calls: session.calls, whole: session.whole });
}
process.stdout.write(JSON.stringify(out));
