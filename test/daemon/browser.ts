import chromium from '@sparticuz/chromium';
import { type Browser, chromium as launcher, type Page } from 'playwright-core';
import type { Test } from 'tap';

/** A real browser without a window. */
export async function browser(t: Test): Promise<Browser> {
  const executablePath = await chromium.executablePath();
  const opened = await launcher.launch({ executablePath, args: chromium.args, headless: true });
  t.teardown(() => opened.close());
  return opened;
}

/** A person at the provider's pages: signs in and agrees. */
export async function signInAs(page: Page, login: string): Promise<void> {
  await page.fill('input[name=login]', login);
  await page.fill('input[name=password]', 'any');
  await page.click('button[type=submit]');
  await page.waitForSelector('input[name=prompt][value=consent]', { state: 'attached' });
  await page.click('button[type=submit]');
}
