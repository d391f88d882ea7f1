/** The timeline of a pod's start: every step of every component, from the request that created it until it was ready. */
import type { ObjectRef } from '../../api/kinds.ts';
import { type PodStart, readPodStart, type StartStep } from '../../api/pod-start.ts';
import { texts } from '../../app/texts.ts';
import { usePolled } from '../../parts/use-polled.ts';

interface StartProps {
  readonly of: ObjectRef;
  readonly uid: string;
}

/** The interval of polling until the pod is ready. */
const PERIOD_MS = 2000;

export function Start({ of: ref, uid }: StartProps) {
  const { pod: words } = texts;
  const { answer, error } = usePolled({
    key: uid,
    periodMs: PERIOD_MS,
    ask: (signal) => readPodStart(ref, signal),
    final: ({ ready }) => ready !== undefined,
  });
  return (
    <section>
      <h2>{words.start}</h2>
      {error === undefined ? null : <p role="alert">{error.message}</p>}
      {answer === undefined ? null : <Waterfall start={answer} />}
    </section>
  );
}

function Waterfall({ start: { steps, durationMs, accountedFor = 0, missing } }: { readonly start: PodStart }) {
  const { pod: words } = texts;
  const total = steps.reduce((most, step) => Math.max(most, step.offsetMs + (step.durationMs ?? 0)), durationMs ?? 1);
  return (
    <>
      <p>{durationMs === undefined ? words.notReadyYet : words.readyAfter(durationMs, accountedFor)}</p>
      {missing.map((text) => (
        <p key={text} class="dim">
          {text}
        </p>
      ))}
      <div class="pod-scroll" role="region" aria-label={words.start} tabIndex={0}>
        <table class="pod-waterfall">
          <thead>
            <tr>
              <th scope="col">{words.step}</th>
              <th scope="col">{words.at}</th>
              <th scope="col">{words.took}</th>
              <th scope="col" class="pod-bar">
                <span class="pod-hidden">{words.place}</span>
              </th>
            </tr>
          </thead>
          {componentsOf(steps).map(([component, its]) => (
            <tbody key={component}>
              <tr>
                <th scope="rowgroup" colSpan={4}>
                  {component}
                </th>
              </tr>
              {its.map((step, index) => (
                <StepRow key={index} step={step} total={total} />
              ))}
            </tbody>
          ))}
        </table>
      </div>
    </>
  );
}

function componentsOf(steps: readonly StartStep[]): readonly (readonly [string, readonly StartStep[]])[] {
  return [...Map.groupBy(steps, ({ component }) => component)];
}

const SERIES: Readonly<Record<string, number>> = { 'kube-apiserver': 1, 'kube-scheduler': 3, kubelet: 2 };

function StepRow({ step, total }: { readonly step: StartStep; readonly total: number }) {
  const { component, depth, name, offsetMs, durationMs, detail = '', error = '' } = step;
  const share = (ms: number): string => `${Math.max(0, Math.min(100, (ms / total) * 100)).toFixed(3)}%`;
  const left = share(offsetMs);
  const width = share(durationMs ?? total - offsetMs);
  return (
    <tr>
      <td style={{ paddingLeft: `${8 + depth * 12}px` }}>
        {name}
        {detail === '' ? null : <span class="dim">{` ${detail}`}</span>}
        {error === '' ? null : <span class="pod-error">{` ${error}`}</span>}
      </td>
      <td class="mono">{texts.pod.ms(offsetMs)}</td>
      <td class="mono">{durationMs === undefined ? texts.pod.goesOn : texts.pod.ms(durationMs)}</td>
      <td class="pod-bar">
        <span
          class={error === '' ? `pod-step pod-step-${SERIES[component] ?? 4}` : 'pod-step pod-step-failed'}
          style={{ left, width }}
        />
      </td>
    </tr>
  );
}
