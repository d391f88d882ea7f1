/** The menu beside the view: views, then kinds by subject. */
import { type Signal, useComputed, useSignalEffect } from '@preact/signals';
import { type Kind, kindId } from '../api/kinds.ts';
import { Icon } from '../parts/icon.tsx';
import type { ViewEntry } from '../views/contract.ts';
import { listable, listableKind } from './cluster-state.ts';
import { menuOf, type MenuSection } from './menu.ts';
import { PageTools } from './page-tools.tsx';
import { href, namespace, route } from './router.ts';
import { texts } from './texts.ts';

export function Menu({ open, views }: { readonly open: Signal<boolean>; readonly views: readonly ViewEntry[] }) {
  const menu = useComputed(() => menuOf(listable.value));
  const { main, other } = menu.value;
  useSignalEffect(() => (open.value ? closeByEscape(open) : undefined));
  const inMenu = views.filter(({ menu: line }) => line !== undefined && mayList(line.kind));
  return (
    <nav class={open.value ? 'menu open' : 'menu'} aria-label={texts.shell.kinds}>
      {inMenu.length === 0 ? null : (
        <ul class="views">
          {inMenu.map((view) => (
            <li key={view.name}>
              <a
                href={href(view.name === '' ? [] : [view.name], { ns: namespace.value })}
                aria-current={route.value.view === view.name ? 'page' : undefined}
              >
                <Icon name={view.menu!.icon} />
                {view.title}
              </a>
            </li>
          ))}
        </ul>
      )}
      {main.map((section) => (
        <Section key={section.title} section={section} />
      ))}
      {other.length === 0 ? null : (
        <details>
          <summary>{texts.shell.otherKinds}</summary>
          {other.map((section) => (
            <Section key={section.title} section={section} />
          ))}
        </details>
      )}
      <PageTools named />
    </nav>
  );
}

/** Returns a function that removes the listener. */
function closeByEscape(open: Signal<boolean>): () => void {
  const close = ({ key }: KeyboardEvent): void => {
    if (key === 'Escape') open.value = false;
  };
  document.addEventListener('keydown', close);
  return () => document.removeEventListener('keydown', close);
}

function mayList(kind: string | undefined): boolean {
  return kind === undefined || listableKind(kind) !== undefined;
}

function Section({ section: { title, kinds } }: { readonly section: MenuSection }) {
  return (
    <section>
      <h2>{title}</h2>
      <ul>
        {kinds.map((kind) => (
          <li key={kindId(kind)}>
            <KindLink kind={kind} />
          </li>
        ))}
      </ul>
    </section>
  );
}

function KindLink({ kind }: { readonly kind: Kind }) {
  const id = kindId(kind);
  const { view, path } = route.value;
  return (
    <a
      href={href(['list', id], { ns: kind.namespaced ? namespace.value : '' })}
      aria-current={view === 'list' && path[0] === id ? 'page' : undefined}
    >
      {pluralOf(kind)}
    </a>
  );
}

/** The plural in the kind's spelling: `ReplicaSets` for `ReplicaSet` and `replicasets`. */
export function pluralOf({ kind, resource }: Pick<Kind, 'kind' | 'resource'>): string {
  const lower = kind.toLowerCase();
  if (resource.startsWith(lower)) return kind + resource.slice(lower.length);
  const stem = lower.slice(0, -1);
  return resource.startsWith(stem) ? kind.slice(0, -1) + resource.slice(stem.length) : resource;
}
