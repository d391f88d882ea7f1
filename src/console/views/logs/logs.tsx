/** The logs of a pod, or of the pods of a workload, with search and download. */
import { useSignal } from '@preact/signals';
import { useEffect, useLayoutEffect, useMemo, useRef } from 'preact/hooks';
import { type ObjectRef, objectPath } from '../../api/kinds.ts';
import { kindNamed, kinds } from '../../app/cluster-state.ts';
import { objectOf } from '../../app/hrefs.ts';
import { texts } from '../../app/texts.ts';
import { useMayDo } from '../../parts/access.ts';
import { ObjectHeader } from '../../parts/object-header.tsx';
import type { ViewProps } from '../contract.ts';
import { followLogs } from './follow-logs.ts';
import { useLogKeys } from './keys.ts';
import { LogBar } from './log-bar.tsx';
import { LogPane, type Reading } from './log-pane.tsx';
import { LogStatus } from './log-status.tsx';
import { LogStore } from './log-store.ts';
import { type LogSettings, settingsOf } from './look.ts';
import { stepToMatch } from './matches.ts';

export function View({ route }: ViewProps) {
  if (kinds.value.length === 0) return <p class="notice">{texts.shell.loading}</p>;
  const ref = objectOf(route, kindNamed);
  if (ref === undefined) return <p class="notice">{texts.shell.noView}</p>;
  return <Logs key={objectPath(ref)} of={ref} settings={settingsOf(route.params)} />;
}

function Logs({ of: ref, settings }: { readonly of: ObjectRef; readonly settings: LogSettings }) {
  const store = useMemo(() => new LogStore(), []);
  const reading = useSignal<Reading>({ follow: true, number: 0, offset: 0 });
  const current = useSignal(-1);
  const search = useRef<HTMLInputElement>(null);
  const mayDo = useMayDo(ref);
  const pods = kindNamed('pods');
  const { container, previous, query } = settings;
  useEffect(() => {
    reading.value = { follow: true, number: 0, offset: 0 };
    return followLogs(store, ref, { pods, container, previous });
  }, [container, previous]);
  // Runs before the next key event, so that Enter goes to a match of the text just typed.
  useLayoutEffect(() => {
    current.value = -1;
    store.setSearch(query);
  }, [query]);
  const step = (by: 1 | -1): void => store.whenSearched(() => stepToMatch(store, { current, reading, by }));
  useLogKeys({ settings, reading, search, step });
  return (
    <section class="logs">
      <ObjectHeader of={ref} mayDo={mayDo} title={texts.logs.title} />
      <LogBar
        store={store}
        of={ref}
        settings={settings}
        reading={reading}
        search={search}
        current={current}
        step={step}
      />
      <LogPane store={store} settings={settings} reading={reading} current={current.value} />
      <LogStatus store={store} />
    </section>
  );
}
