/** The views of the page, registered once at its start, so that shared parts find views without importing them. */
import type { ViewEntry } from '../views/contract.ts';

let registered: readonly ViewEntry[] = [];

export function registerViews(views: readonly ViewEntry[]): void {
  registered = views;
}

export function allViews(): readonly ViewEntry[] {
  return registered;
}

export function viewNamed(name: string): ViewEntry | undefined {
  return registered.find((view) => view.name === name);
}
