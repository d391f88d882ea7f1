/** What a browser remembers of its user's choices. Nothing secret, nothing of the cluster's objects. */

export function readSetting(name: string): string | null {
  try {
    return localStorage.getItem(`keelson.${name}`);
  } catch {
    return null; // storage is switched off
  }
}

export function writeSetting(name: string, value: string): void {
  try {
    localStorage.setItem(`keelson.${name}`, value);
  } catch {
    // Storage is switched off or full: the choice lasts as long as the page.
  }
}
