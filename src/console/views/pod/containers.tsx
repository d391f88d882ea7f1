/** The containers of a pod: image, state, restarts, last termination, resources, probes, and resource use. */
import { useMemo, useRef } from 'preact/hooks';
import type { Pod } from '../../../api/gen/core-v1.ts';
import type { ObjectRef } from '../../api/kinds.ts';
import { objectHref } from '../../app/hrefs.ts';
import { numberText, texts } from '../../app/texts.ts';
import type { MayDo } from '../../parts/access.ts';
import { Age } from '../../parts/age.tsx';
import { Badge } from '../../parts/badge.tsx';
import { Fact } from '../../parts/fact.tsx';
import { usePolled } from '../../parts/use-polled.ts';
import { containersOf, probeWords, resourceWords, type ShownContainer, stateWords } from './container-facts.ts';
import { readUse, type Use, type UseHistory, withSample } from './container-use.ts';
import { Ports } from './ports.tsx';
import { UseLines } from './use-lines.tsx';

interface ContainersProps {
  readonly of: ObjectRef;
  readonly pod: Pod;
  readonly mayDo: MayDo;
}

const PERIOD_MS = 5000;

export function Containers({ of: ref, pod, mayDo }: ContainersProps) {
  const { answer } = usePolled({
    key: pod.metadata.uid ?? '',
    periodMs: PERIOD_MS,
    ask: (signal) => readUse(ref, signal),
  });
  const history = useRef<UseHistory>(new Map());
  const use = useMemo(() => {
    if (answer !== undefined) history.current = withSample(history.current, answer);
    return history.current;
  }, [answer]);
  const mayBoth = (subresource: string): boolean =>
    ['get', 'create'].every((verb) => mayDo({ verb, resource: 'pods', subresource }));
  const rights = {
    shell: mayBoth('exec'),
    logs: mayDo({ verb: 'get', resource: 'pods', subresource: 'log' }),
    mayAsk: mayDo({ verb: 'get', resource: 'pods', subresource: 'proxy' }),
    mayForward: mayBoth('portforward'),
  };
  return (
    <section aria-label={texts.pod.containers}>
      <h2>{texts.pod.containers}</h2>
      <ul class="pod-containers">
        {containersOf(pod).map((container) => (
          <li key={container.spec.name}>
            <ContainerCard of={ref} container={container} use={use.get(container.spec.name) ?? []} {...rights} />
          </li>
        ))}
      </ul>
    </section>
  );
}

interface CardProps {
  readonly of: ObjectRef;
  readonly container: ShownContainer;
  readonly use: readonly Use[];
  readonly shell: boolean;
  readonly logs: boolean;
  readonly mayAsk: boolean;
  readonly mayForward: boolean;
}

function ContainerCard({ of: ref, container, use, shell, logs, mayAsk, mayForward }: CardProps) {
  const { pod: words } = texts;
  const { role, spec, status } = container;
  const place = { container: spec.name };
  const resources = resourceWords(spec);
  return (
    <article class="pod-container" aria-label={spec.name}>
      <header>
        <h3>{spec.name}</h3>
        {role === 'main' ? null : <span class="dim">{words.roles[role]}</span>}
        <State container={container} />
        {logs ? <a href={objectHref('logs', ref, place)}>{texts.logs.title}</a> : null}
        {shell && status?.state?.running !== undefined ? (
          <a href={objectHref('shell', ref, place)}>{texts.terminal.title}</a>
        ) : null}
      </header>
      <dl>
        <Fact name={words.image}>
          <span class="mono">{spec.image}</span>
        </Fact>
        {status === undefined ? null : <Fact name={words.restarts}>{numberText(status.restartCount)}</Fact>}
        <LastEnd container={container} />
        {resources.length === 0 ? null : <Fact name={words.resources}>{resources.join(' · ')}</Fact>}
        {spec.startupProbe === undefined ? null : <Fact name={words.startup}>{probeWords(spec.startupProbe)}</Fact>}
        {spec.readinessProbe === undefined ? null : (
          <Fact name={words.readiness}>{probeWords(spec.readinessProbe)}</Fact>
        )}
        {spec.livenessProbe === undefined ? null : <Fact name={words.liveness}>{probeWords(spec.livenessProbe)}</Fact>}
      </dl>
      {spec.ports === undefined ? null : <Ports of={ref} ports={spec.ports} {...{ mayAsk, mayForward }} />}
      <UseLines spec={spec} use={use} />
    </article>
  );
}

function State({ container: { status, role } }: Pick<CardProps, 'container'>) {
  const { word, sinceMs, detail } = stateWords(status?.state);
  return (
    <>
      <Badge word={word} />
      {sinceMs === 0 ? null : <Age sinceMs={sinceMs} />}
      {status?.state?.running === undefined || role === 'init' ? null : (
        <Badge word={status.ready ? texts.pod.ready : texts.pod.notReady} tone={status.ready ? 'good' : 'busy'} />
      )}
      {detail === '' ? null : <span>{detail}</span>}
    </>
  );
}

/** The last termination of the container. */
function LastEnd({ container: { status } }: Pick<CardProps, 'container'>) {
  if (status?.lastState?.terminated === undefined) return null;
  const { word, sinceMs, detail } = stateWords(status.lastState);
  return (
    <Fact name={texts.pod.lastEnd}>
      <Badge word={word} /> {detail} {sinceMs === 0 ? null : '· '}
      <Age sinceMs={sinceMs} />
    </Fact>
  );
}
