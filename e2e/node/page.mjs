// Looks at the page in a real browser and prints what is there, as one line of
// JSON.
//
//     page.mjs PAGE_URL PROXY_BASE_URL FOLDER_FOR_PICTURES
//
// The proxy has recorded a call with the word "needle" and hostile text, and its
// verdicts are there.
import { chromium } from 'playwright-core';
import path from 'node:path';

const [page_url, proxy, pictures] = process.argv.slice(2);
const seen = { outside: [], errors: [], dialogs: 0 };

const browser = await chromium.launch({
  executablePath: process.env.CHROMIUM ?? '/usr/bin/chromium',
  args: ['--no-sandbox', '--disable-gpu'],
});
try {
  const context = await browser.newContext({ viewport: { width: 1280, height: 900 } });
  const page = await context.newPage();
  page.setDefaultTimeout(300_000);
  page.on('request', (r) => {
    if (!r.url().startsWith(page_url)) seen.outside.push(r.url());
  });
  page.on('console', (m) => {
    if (m.type() === 'error') seen.errors.push(m.text());
  });
  page.on('pageerror', (e) => seen.errors.push(String(e)));
  page.on('dialog', (d) => {
    seen.dialogs++;
    d.dismiss();
  });

  await page.goto(page_url + '/');
  await page.locator('table.calls tbody tr', { hasText: 'needle' }).first().waitFor();
  await page.screenshot({ path: path.join(pictures, 'calls.png') });

  // A call that is made now appears without loading the page again.
  await page.evaluate(() => (globalThis.sameDocument = true));
  await fetch(proxy + '/chat/completions', {
    method: 'POST',
    headers: { 'content-type': 'application/json' },
    body: JSON.stringify({ model: 'scripted-text', messages: [{ role: 'user', content: 'made while you watch' }] }),
  }).then((r) => r.text());
  await page.locator('table.calls tbody tr', { hasText: 'made while you watch' }).first().waitFor();
  seen.live = await page.evaluate(() => globalThis.sameDocument === true);

  await page.fill('input[name=q]', 'needle');
  await page.press('input[name=q]', 'Enter');
  await page.waitForURL(/q=needle/);
  seen.filtered = await page.locator('table.calls tbody tr').allInnerTexts();

  await page.locator('table.calls tbody tr a').first().click();
  await page.waitForURL(/inferences/);
  seen.said = await page.locator('.message').allInnerTexts();
  seen.verdicts = await page.locator('.verdict .line').allInnerTexts();
  await page.screenshot({ path: path.join(pictures, 'call.png'), fullPage: true });

  await page.locator('a[href^="/conversations/"]').first().click();
  await page.waitForURL(/conversations/);
  seen.turns = await page.locator('article.turn').count();
  seen.conversationVerdicts = await page.locator('.verdict .line').count();
  await page.screenshot({ path: path.join(pictures, 'conversation.png'), fullPage: true });
} finally {
  await browser.close();
}
console.log(JSON.stringify(seen));
