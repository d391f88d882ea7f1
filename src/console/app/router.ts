/**
 * The current address: a path behind the `#`, so that every place is a link without support by the server. The first segment
 * names the view, and the parameters belong to the view; `ns` is the namespace of all views.
 */
import { computed, signal } from '@preact/signals';

export interface Route {
  readonly view: string;
  /** The segments after the view's name. */
  readonly path: readonly string[];
  readonly params: URLSearchParams;
}

/** Parses the text behind the `#`. A text of another form (a one-time code) is the start page. */
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
    return part; // an address typed by hand
  }
}

/** The address of a place. Parameters with the value '' are left out. */
export function href(path: readonly string[], params: Readonly<Record<string, string>> = {}): string {
  const query = new URLSearchParams(Object.entries(params).filter(([, value]) => value !== '')).toString();
  return `#/${path.map(encodeURIComponent).join('/')}${query === '' ? '' : `?${query}`}`;
}

export const route = signal<Route>(parseRoute(location.hash));

/** The selected namespace; '' for all. */
export const namespace = computed(() => route.value.params.get('ns') ?? '');

/** Navigates to a place at the selected moment. `replace`: without an entry in the browser's history. */
export function navigate(target: string, options: NavigateOptions = {}): void {
  go(atMoment(target), options);
}

interface NavigateOptions {
  readonly replace?: boolean;
}

function go(target: string, { replace = false }: NavigateOptions): void {
  if (target === location.hash) return;
  if (replace) {
    history.replaceState(null, '', target);
    route.value = parseRoute(location.hash);
  } else location.hash = target;
}

/** The address of a place at the selected moment. */
function atMoment(target: string): string {
  const { view, path, params } = parseRoute(target);
  const at = route.peek().params.get('at') ?? '';
  if ((params.get('at') ?? '') === at) return target;
  return href(view === '' ? [] : [view, ...path], { ...Object.fromEntries(params), at });
}

/** Changes parameters of the current address; '' removes one. */
export function setParams(
  changes: Readonly<Record<string, string>>,
  options: NavigateOptions = { replace: true },
): void {
  const { view, path, params } = route.peek();
  const all = { ...Object.fromEntries(params), ...changes };
  go(href(view === '' ? [] : [view, ...path], all), options);
}

export function followAddress(): void {
  window.addEventListener('hashchange', () => {
    route.value = parseRoute(location.hash);
  });
  // A link leads to the moment that is selected when it is followed, not when it was drawn.
  const toMoment = ({ target }: Event): void => {
    const link = target instanceof Element ? target.closest<HTMLAnchorElement>('a[href^="#/"]') : null;
    if (link !== null) link.setAttribute('href', atMoment(link.getAttribute('href')!));
  };
  for (const type of ['click', 'auxclick', 'contextmenu']) document.addEventListener(type, toMoment, { capture: true });
}
