/** A chart as a table: for screen readers and for exact numbers. */
import { useState } from 'preact/hooks';
import type { Chart } from '../../../api/charts.ts';
import { texts } from '../../app/texts.ts';
import { exactTimeText } from './amount-text.ts';
import { seriesText, valueText } from './chart-lines.ts';

interface NumbersProps {
  readonly chart: Chart;
  readonly times: readonly number[];
  readonly showsNamespaces: boolean;
}

export function Numbers({ chart, times, showsNamespaces }: NumbersProps) {
  const [open, setOpen] = useState(false);
  const words = texts.charts;
  const title = words.charts[chart.name];
  return (
    <details class="chart-numbers" onToggle={({ currentTarget }) => setOpen(currentTarget.open)}>
      <summary aria-label={words.numbersOf(title)}>{words.numbers}</summary>
      {open ? (
        <div tabIndex={0} role="region" aria-label={words.numbersOf(title)}>
          <table>
            <thead>
              <tr>
                <th scope="col">{words.time}</th>
                {chart.series.map((line) => (
                  <th key={seriesText(line, true)} scope="col">
                    {seriesText(line, showsNamespaces)}
                  </th>
                ))}
              </tr>
            </thead>
            <tbody>
              {times.map((_, back) => {
                const index = times.length - 1 - back;
                return (
                  <tr key={times[index]}>
                    <th scope="row">{exactTimeText(times[index]!)}</th>
                    {chart.series.map((line) => (
                      <td key={seriesText(line, true)}>{valueText(chart.unit, line, index)}</td>
                    ))}
                  </tr>
                );
              })}
            </tbody>
          </table>
        </div>
      ) : null}
    </details>
  );
}
