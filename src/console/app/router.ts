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

/** Goes to a place, of the moment that is looked at. `replace`: without a step in the browser's history. */
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

/** The address of a place, of the moment that is looked at. */
function atMoment(target: string): string {
  const { view, path, params } = parseRoute(target);
  const at = route.peek().params.get('at') ?? '';
  if ((params.get('at') ?? '') === at) return target;
  return href(view === '' ? [] : [view, ...path], { ...Object.fromEntries(params), at });
}

/** Changes parameters of the present place; '' takes one away. */
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
  // A link leads to a place of the moment that is looked at when it is followed, whenever it was drawn.
  const toMoment = ({ target }: Event): void => {
    const link = target instanceof Element ? target.closest<HTMLAnchorElement>('a[href^="#/"]') : null;
    if (link !== null) link.setAttribute('href', atMoment(link.getAttribute('href')!));
  };
  for (const type of ['click', 'auxclick', 'contextmenu']) document.addEventListener(type, toMoment, { capture: true });
}
