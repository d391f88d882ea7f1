/** The pod's progress, what its kubelet waits for, and the kubelet's activity for the pod, live. */
import type { Pod } from '../../../api/gen/core-v1.ts';
import type { PodNodeState } from '../../../api/pod-node-state.ts';
import type { ObjectRef } from '../../api/kinds.ts';
import { readPodLife } from '../../api/pod-life.ts';
import { texts } from '../../app/texts.ts';
import { Age, nowMs } from '../../parts/age.tsx';
import { Badge } from '../../parts/badge.tsx';
import { usePolled } from '../../parts/use-polled.ts';
import { Lanes } from './lanes.tsx';
import { type Station, stationsOf } from './stations.ts';

interface LifeProps {
  readonly of: ObjectRef;
  readonly pod: Pod;
}

const PERIOD_MS = 1000;

export function Life({ of: ref, pod }: LifeProps) {
  const { life } = texts.pod;
  const nodeName = pod.spec?.nodeName ?? '';
  return (
    <section>
      <h2>{life.title}</h2>
      <ol class="pod-stations">
        {stationsOf(pod).map((station) => (
          <StationBox key={station.name} station={station} />
        ))}
      </ol>
      {nodeName === '' ? null : <Kubelet key={`${pod.metadata.uid} ${nodeName}`} of={ref} nodeName={nodeName} />}
    </section>
  );
}

function StationBox({ station: { name, detail, state, tone, sinceMs } }: { readonly station: Station }) {
  return (
    <li class={`pod-station pod-${state}`} aria-current={state === 'now' ? 'step' : undefined}>
      {tone === 'plain' ? <span>{`${state === 'done' ? '✓ ' : ''}${name}`}</span> : <Badge word={name} tone={tone} />}
      <span class="dim">
        {detail} <Age sinceMs={sinceMs} />
      </span>
    </li>
  );
}

function Kubelet({ of: ref, nodeName }: { readonly of: ObjectRef; readonly nodeName: string }) {
  const { life } = texts.pod;
  const { answer, error } = usePolled({
    key: nodeName,
    periodMs: PERIOD_MS,
    ask: (signal) => readPodLife(ref, signal),
  });
  return (
    <>
      <h3>{life.kubelet(nodeName)}</h3>
      {error === undefined ? null : <p class="dim">{`${life.noAnswer} ${error.message}`}</p>}
      {answer === undefined ? null : (
        <>
          <Waiting state={answer.state} />
          <Lanes activity={answer.activity} />
        </>
      )}
    </>
  );
}

/** Timers and results that the kubelet waits for. */
function Waiting({ state: { heldBack, failedPulls, probes, volumes } }: { readonly state: PodNodeState }) {
  const { life } = texts.pod;
  return (
    <ul class="pod-waiting">
      {heldBack.map(({ name, delaySeconds, nextTry }) => (
        <li key={`held ${name}`}>
          <Badge word={life.backOff} tone="bad" /> {life.restart(name, delaySeconds)} <Countdown to={nextTry} />
        </li>
      ))}
      {failedPulls.map(({ image, message, nextTry }) => (
        <li key={`pull ${image}`}>
          <Badge word={life.pull} tone="bad" /> {`${image}: ${message}`} <Countdown to={nextTry} />
        </li>
      ))}
      {volumes.map(({ name, waitsFor, error = '' }) => (
        <li key={`volume ${name}`}>
          <Badge word={life.volume} tone="busy" /> {life.waitsFor(name, waitsFor)} {error}
        </li>
      ))}
      {probes.map(({ container, type, result, output, at, inRow, threshold }) => (
        <li key={`probe ${container} ${type}`}>
          <Badge word={`${type}: ${result}`} tone={result === 'success' ? 'good' : 'bad'} />{' '}
          {life.probe(container, Math.min(inRow, threshold), threshold)} <Age sinceMs={Date.parse(at)} />{' '}
          <span class="dim">{output.slice(0, 300)}</span>
        </li>
      ))}
    </ul>
  );
}

function Countdown({ to }: { readonly to: string }) {
  const seconds = Math.max(0, Math.ceil((Date.parse(to) - nowMs.value) / 1000));
  return <strong class="mono">{texts.pod.life.inSeconds(seconds)}</strong>;
}
