/** Functions that the tests on a real cluster share: the cluster, a signed-in page, and navigation. */
import type { Locator, Page } from 'playwright-core';
import type { Space, TestCluster } from '../integration/cluster-fixture.ts';

export interface RealWorld {
  readonly cluster: TestCluster;
  readonly space: Space;
  readonly page: Page;
  /** Errors that the page logged, and requests to other origins. */
  readonly problems: readonly string[];
}

export function show(page: Page, place: string): Promise<void> {
  return page.evaluate((hash) => void (location.hash = hash), place);
}

/** Opens an object and presses a button after checking the shown command. */
export async function runAction(
  page: Page,
  { place, button, command, fill }: { place: string; button: string; command: string | RegExp; fill?: string },
): Promise<Locator> {
  await show(page, `#/object/${place}`);
  await page.getByRole('button', { name: button, exact: true }).click();
  const dialog = page.getByRole('dialog');
  if (fill !== undefined) await dialog.getByRole('spinbutton').or(dialog.getByRole('textbox')).first().fill(fill);
  await dialog.getByText(command).first().waitFor();
  await dialog.getByRole('button', { name: button, exact: true }).click();
  return dialog;
}
