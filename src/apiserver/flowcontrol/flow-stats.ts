/**
 * Counts of one flow schema's requests at one priority level, and their text for scraping, under upstream's names. Plain
 * numbers: they change several times per request.
 */
import { exposeHistogram } from '../histogram-text.ts';
import type { PriorityLevel } from './priority-level.ts';

/** Why a request is refused. Upstream's values of the label `reason`. */
export type RefusalReason = 'queue-full' | 'concurrency-limit' | 'time-out' | 'cancelled';

const WAIT_BOUNDS = [0, 0.005, 0.02, 0.05, 0.1, 0.2, 0.5, 1, 2, 5, 10, 15, 30];

/** Wait times of requests that were served, or of those that were refused. */
class WaitHistogram {
  readonly counts = WAIT_BOUNDS.map(() => 0);
  sum = 0;
  total = 0;

  add(seconds: number): void {
    this.total++;
    this.sum += seconds;
    for (let index = 0; index < WAIT_BOUNDS.length; index++)
      if (seconds <= WAIT_BOUNDS[index]!) {
        this.counts[index]!++;
        return;
      }
  }
}

export class FlowStats {
  readonly schema: string;
  readonly level: string;
  readonly refused = new Map<RefusalReason, number>();
  readonly served = new WaitHistogram();
  readonly unserved = new WaitHistogram();
  dispatched = 0;
  waiting = 0;
  executing = 0;
  executingSeats = 0;

  constructor(schema: string, level: string) {
    this.schema = schema;
    this.level = level;
  }

  /** Counts a request that was refused after this wait. */
  refuse(reason: RefusalReason, waitedSeconds: number): void {
    this.refused.set(reason, (this.refused.get(reason) ?? 0) + 1);
    this.unserved.add(waitedSeconds);
  }
}

const PREFIX = 'apiserver_flowcontrol_';

/** Prometheus text. */
export function exposeFlows(stats: readonly FlowStats[], levels: readonly PriorityLevel<never>[]): string {
  const lines: string[] = [];
  const head = (name: string, type: string, help: string): void => {
    lines.push(`# HELP ${PREFIX}${name} ${help}`, `# TYPE ${PREFIX}${name} ${type}`);
  };
  const labels = ({ schema, level }: FlowStats): string => `flow_schema="${schema}",priority_level="${level}"`;
  head('rejected_requests_total', 'counter', 'Requests refused for overload.');
  for (const one of stats)
    for (const [reason, count] of one.refused)
      lines.push(`${PREFIX}rejected_requests_total{${labels(one)},reason="${reason}"} ${count}`);
  const byFlow = [
    ['dispatched_requests_total', 'counter', 'Requests that began to be served.', 'dispatched'],
    ['current_inqueue_requests', 'gauge', 'Requests that wait in queues.', 'waiting'],
    ['current_executing_requests', 'gauge', 'Requests being served.', 'executing'],
    ['current_executing_seats', 'gauge', 'Seats taken by requests being served.', 'executingSeats'],
  ] as const;
  for (const [name, type, help, field] of byFlow) {
    head(name, type, help);
    for (const one of stats) lines.push(`${PREFIX}${name}{${labels(one)}} ${one[field]}`);
  }
  head('request_wait_duration_seconds', 'histogram', 'Time requests spent in queues, in seconds.');
  for (const one of stats) {
    exposeWaits(lines, `execute="true",${labels(one)}`, one.served);
    exposeWaits(lines, `execute="false",${labels(one)}`, one.unserved);
  }
  const byLevel: readonly (readonly [string, string, (level: PriorityLevel<never>) => number])[] = [
    ['nominal_limit_seats', 'Nominal share of a level.', ({ limits }) => limits.nominal],
    ['current_limit_seats', 'Seats a level has now.', ({ seats }) => seats],
    ['lower_limit_seats', 'Seats a level keeps for itself.', ({ limits }) => limits.min],
    ['upper_limit_seats', 'Seats of a level that borrows all it may.', ({ limits }) => limits.max],
    ['demand_seats_average', 'Mean demand in the last period.', ({ demand }) => demand.average],
    ['demand_seats_stdev', 'Deviation of demand in the last period.', ({ demand }) => demand.deviation],
    ['demand_seats_high_watermark', 'Most demand in the last period.', ({ demand }) => demand.peak],
    ['demand_seats_smoothed', 'Demand, smoothed over periods.', ({ demand }) => demand.smoothed],
  ];
  for (const [name, help, read] of byLevel) {
    head(name, 'gauge', help);
    for (const level of levels) lines.push(`${PREFIX}${name}{priority_level="${level.name}"} ${read(level)}`);
  }
  return `${lines.join('\n')}\n`;
}

function exposeWaits(lines: string[], labels: string, waits: WaitHistogram): void {
  if (waits.total === 0) return;
  exposeHistogram(lines, { name: `${PREFIX}request_wait_duration_seconds`, labels, bounds: WAIT_BOUNDS }, waits);
}
