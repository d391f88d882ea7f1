/** The user's choices, stored by the browser: nothing secret, and no data of the cluster's objects. */

export function readSetting(name: string): string | null {
  try {
    return localStorage.getItem(`keelson.${name}`);
  } catch {
    return null; // storage is disabled
  }
}

export function writeSetting(name: string, value: string): void {
  try {
    localStorage.setItem(`keelson.${name}`, value);
  } catch {
    // When storage is disabled or full, the choice lasts as long as the page.
  }
}
