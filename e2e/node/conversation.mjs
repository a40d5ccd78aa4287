// Looks at conversations in a real browser and prints what a person can read in
// each turn of each, as one line of JSON.
//
//     conversation.mjs URL...
import { chromium } from 'playwright-core';

const browser = await chromium.launch({
  executablePath: process.env.CHROMIUM ?? '/usr/bin/chromium',
  args: ['--no-sandbox', '--disable-gpu'],
});
try {
  const page = await browser.newPage();
  page.setDefaultTimeout(300_000);
  const seen = [];
  for (const url of process.argv.slice(2)) {
    await page.goto(url);
    seen.push(await page.locator('article.turn').allInnerTexts());
  }
  console.log(JSON.stringify(seen));
} finally {
  await browser.close();
}
