/** The names of a chart's lines, and their values at a moment. */
import type { Chart, ChartSeries } from '../../../api/charts.ts';
import { texts } from '../../app/texts.ts';
import { amountText } from './amount-text.ts';

export function seriesText({ name, object }: ChartSeries, withNamespace: boolean): string {
  if (name !== undefined) return texts.charts.series[name];
  return withNamespace && object!.namespace !== '' ? `${object!.namespace}/${object!.name}` : object!.name;
}

/** The value of a sample, or the newest known value. */
export function valueText(unit: Chart['unit'], { values }: ChartSeries, index: number | undefined): string {
  const value = index === undefined ? values.findLast((one) => one !== null) : values[index];
  return value === undefined || value === null ? texts.charts.unknown : amountText(unit, value);
}

/** The number of a line's colour; the total has the colour of text. */
export function colourOf(series: readonly ChartSeries[], index: number): number {
  return series[0]?.name === 'total' ? index : index + 1;
}

export function isEmpty({ series }: Chart): boolean {
  return series.every(({ values }) => values.every((value) => value === null));
}
