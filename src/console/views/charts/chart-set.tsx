/** The charts of one response, polled while they are shown. */
import type { ComponentChildren } from 'preact';
import type { ChartSeries, ChartSet } from '../../../api/charts.ts';
import { texts } from '../../app/texts.ts';
import { usePolled } from '../../parts/use-polled.ts';
import { exactTimeText } from './amount-text.ts';
import { ChartPanel } from './chart-panel.tsx';

interface ChartSetProps {
  /** The key of the polling; another key restarts it. */
  readonly of: string;
  readonly ask: (signal: AbortSignal) => Promise<ChartSet>;
  readonly showsNamespaces?: boolean;
  readonly hrefOf?: (object: NonNullable<ChartSeries['object']>) => string;
  /** The description of the charts' object. */
  readonly children?: ComponentChildren;
}

const PERIOD_MS = 10_000;

export function ChartSetView({ of: key, ask, showsNamespaces = false, hrefOf, children }: ChartSetProps) {
  const { answer, error } = usePolled({ key, periodMs: PERIOD_MS, ask });
  const words = texts.charts;
  return (
    <div class="charts-body">
      {error === undefined ? null : <p role="alert">{error.message}</p>}
      {answer === undefined ? null : (
        <>
          <p class="dim">
            {children} {words.since(exactTimeText(answer.since))}
          </p>
          {answer.complete ? null : <p class="charts-note">{words.incomplete}</p>}
          <div class="charts-grid">
            {answer.charts.map((chart) => (
              <ChartPanel key={chart.name} {...{ chart, times: answer.times, showsNamespaces, hrefOf }} />
            ))}
          </div>
        </>
      )}
    </div>
  );
}
