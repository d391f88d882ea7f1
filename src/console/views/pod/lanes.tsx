/** The kubelet's activity for the pod in lanes: events that reach its sync loop, and the steps of the pod's worker. */
import type { ActivityEvent, ActivityPart, PodActivity } from '../../../api/pod-activity.ts';
import { texts } from '../../app/texts.ts';

/** The span of time that the lanes show. */
const SHOWN_MS = 60_000;
/** The fraction of the span that lies in the future, for the worker's next sync. */
const AHEAD = 0.15;
const NEWEST = 30;

const PARTS: readonly ActivityPart[] = ['source', 'pleg', 'probe', 'timer', 'worker'];

export function Lanes({ activity: { now, since, events } }: { readonly activity: PodActivity }) {
  const { life } = texts.pod;
  const nowMs = Date.parse(now);
  const next = events.findLast(({ nextSync }) => nextSync !== undefined)?.nextSync;
  const nextMs = next === undefined ? 0 : Date.parse(next) - nowMs;
  return (
    <>
      <dl class="pod-lanes">
        {PARTS.map((part) => (
          <div key={part}>
            <dt title={life.parts[part].text}>{life.parts[part].name}</dt>
            <dd>
              <span class="pod-lane-now" style={{ left: percent(0) }} />
              {events
                .filter((event) => event.part === part)
                .map((event) => (
                  <Mark key={event.number} event={event} nowMs={nowMs} />
                ))}
              {part === 'worker' && nextMs > 0 ? (
                <span
                  class="pod-mark pod-mark-next"
                  style={{ left: percent(Math.min(nextMs, SHOWN_MS * AHEAD * 0.98)) }}
                  title={life.next(nextMs)}
                />
              ) : null}
            </dd>
          </div>
        ))}
      </dl>
      <p class="dim">
        {events.length === 0 ? life.quiet : ''} {life.since(Math.round((nowMs - Date.parse(since)) / 1000))}{' '}
        {nextMs > 0 ? life.next(nextMs) : ''}
      </p>
      <div class="pod-events mono" role="region" aria-label={life.events} tabIndex={0}>
        <ol>
          {events
            .slice(-NEWEST)
            .toReversed()
            .map((event) => (
              <li key={event.number}>
                <time dateTime={event.at}>{event.at.slice(11, 23)}</time> <strong>{life.parts[event.part].name}</strong>{' '}
                {whatOf(event)}
              </li>
            ))}
        </ol>
      </div>
    </>
  );
}

function Mark({ event, nowMs }: { readonly event: ActivityEvent; readonly nowMs: number }) {
  const fromNow = Date.parse(event.at) - nowMs;
  if (fromNow < -SHOWN_MS * (1 - AHEAD)) return null;
  const { durationMs, part, error } = event;
  const width = part === 'worker' ? (durationMs ?? -fromNow) : 0;
  return (
    <span
      class={error === undefined ? `pod-mark pod-mark-${part}` : 'pod-mark pod-mark-failed'}
      style={{ left: percent(fromNow), width: `${((width / SHOWN_MS) * 100).toFixed(3)}%` }}
      title={whatOf(event)}
    />
  );
}

/** The horizontal position of a time in milliseconds from now. */
function percent(fromNow: number): string {
  return `${((1 - AHEAD + fromNow / SHOWN_MS) * 100).toFixed(3)}%`;
}

function whatOf({ part, what, durationMs, error }: ActivityEvent): string {
  const { life, ms } = texts.pod;
  const took = part !== 'worker' ? '' : durationMs === undefined ? ` ${texts.pod.goesOn}` : ` ${ms(durationMs)}`;
  const meaning = life.meanings[what] ?? '';
  return `${what}${took}${meaning === '' ? '' : ` · ${meaning}`}${error === undefined ? '' : ` · ${error}`}`;
}
