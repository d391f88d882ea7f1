/** Opens a page in the user's browser, where there is one. */
import { spawn } from 'node:child_process';

/** Resolves to false when there is no screen, or no program that opens pages. */
export function openBrowser(url: string): Promise<boolean> {
  const { DISPLAY, WAYLAND_DISPLAY } = process.env;
  const isMac = process.platform === 'darwin';
  if (!isMac && !DISPLAY && !WAYLAND_DISPLAY) return Promise.resolve(false);
  const { promise, resolve } = Promise.withResolvers<boolean>();
  // The link reaches other users' process lists by this; it is of use for one sign-in alone.
  const child = spawn(isMac ? 'open' : 'xdg-open', [url], { stdio: 'ignore', detached: true });
  child.once('error', () => resolve(false));
  child.once('spawn', () => {
    child.unref();
    resolve(true);
  });
  return promise;
}
