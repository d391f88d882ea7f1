/** The head of a page about one object: its name, and links to other views of the object with their keys. */
import type { ComponentChildren } from 'preact';
import { useEffect } from 'preact/hooks';
import type { ObjectRef } from '../api/kinds.ts';
import { bindKeys } from '../app/keyboard.ts';
import { listHref, objectHref } from '../app/hrefs.ts';
import { navigate } from '../app/router.ts';
import { texts } from '../app/texts.ts';
import { actionsOn, type MayDo } from './access.ts';

interface ObjectHeaderProps {
  readonly of: ObjectRef;
  readonly mayDo: MayDo;
  /** The name of this page of the object; absent on the object's main page. */
  readonly title?: string;
  /** Buttons of this page alone. */
  readonly children?: ComponentChildren;
}

export function ObjectHeader({ of: ref, mayDo, title = '', children }: ObjectHeaderProps) {
  useEffect(() => {
    document.title = [...(title === '' ? [] : [title]), ref.name, ref.kind.kind, texts.title].join(' · ');
  }, [title]);
  return (
    <header class="object-header">
      <h1>
        {title === '' ? (
          <>
            <a href={listHref(ref.kind, { ns: ref.namespace })}>{ref.kind.kind}</a> {ref.name}
          </>
        ) : (
          <>
            {`${title}: ${ref.kind.kind} `}
            <a href={objectHref('object', ref)}>{ref.name}</a>
          </>
        )}
      </h1>
      <div class="object-buttons" role="group" aria-label={texts.object.actionsTitle}>
        <Actions of={ref} mayDo={mayDo} current={title} />
        {children}
      </div>
    </header>
  );
}

interface ActionsProps {
  readonly of: ObjectRef;
  readonly mayDo: MayDo;
  readonly current: string;
}

function Actions({ of: ref, mayDo, current }: ActionsProps) {
  const actions = actionsOn(ref, mayDo).filter(({ label }) => label !== current);
  useEffect(
    () => bindKeys(actions.map(({ key, label, href }) => ({ key, label, run: () => navigate(href(ref)) }))),
    [actions.map(({ key }) => key).join(' ')],
  );
  return (
    <>
      {actions.map(({ key, label, href }) => (
        <a key={key} class="object-action" href={href(ref)}>
          {label} <kbd aria-hidden="true">{key}</kbd>
        </a>
      ))}
    </>
  );
}
