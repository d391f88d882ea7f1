/**
 * Where the page is: a path behind the `#`, so that every place is a link and no server need know of it. The first segment
 * names the view, the parameters are the view's own; `ns` is the namespace that all views look at.
 */
import { computed, signal } from '@preact/signals';

export interface Route {
  readonly view: string;
  /** The segments behind the view's. */
  readonly path: readonly string[];
  readonly params: URLSearchParams;
}

/** Reads what stands behind the `#`; what is no address of ours (a one-time code) is the place where one begins. */
function parseRoute(hash: string): Route {
  if (!hash.startsWith('#/')) return { view: '', path: [], params: new URLSearchParams() };
  const [path = '', query = ''] = hash.replace(/^#/, '').split('?', 2);
  const [view = '', ...rest] = path
    .split('/')
    .filter((part) => part !== '')
    .map(decoded);
  return { view, path: rest, params: new URLSearchParams(query) };
}

function decoded(part: string): string {
  try {
    return decodeURIComponent(part);
  } catch {
    return part; // written by hand
  }
}

/** The address of a place. Parameters that are '' are left out. */
export function href(path: readonly string[], params: Readonly<Record<string, string>> = {}): string {
  const query = new URLSearchParams(Object.entries(params).filter(([, value]) => value !== '')).toString();
  return `#/${path.map(encodeURIComponent).join('/')}${query === '' ? '' : `?${query}`}`;
}

export const route = signal<Route>(parseRoute(location.hash));

/** The namespace that is looked at; '' for all. */
export const namespace = computed(() => route.value.params.get('ns') ?? '');

/** Goes to a place. `replace`: without a step in the browser's history. */
export function navigate(target: string, { replace = false }: { readonly replace?: boolean } = {}): void {
  if (target === location.hash) return;
  if (replace) {
    history.replaceState(null, '', target);
    route.value = parseRoute(location.hash);
  } else location.hash = target;
}

/** Changes parameters of the present place; '' takes one away. */
export function setParams(changes: Readonly<Record<string, string>>, options = { replace: true }): void {
  const { view, path, params } = route.peek();
  const all = { ...Object.fromEntries(params), ...changes };
  navigate(href(view === '' ? [] : [view, ...path], all), options);
}

export function followAddress(): void {
  window.addEventListener('hashchange', () => {
    route.value = parseRoute(location.hash);
  });
}
