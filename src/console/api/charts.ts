/** Reads Keelson's charts of the last hour: of objects and lists, and of the server's requests. */
import type { ChartSet } from '../../api/charts.ts';
import { sendJson } from './http.ts';

const API_CHARTS = '/keelson/v1/api-charts';

/** `path`: the path of an object or a list. */
export function readCharts(path: string, signal?: AbortSignal): Promise<ChartSet> {
  return sendJson(`/keelson/v1/charts${path}`, { signal });
}

export function readApiCharts(signal: AbortSignal): Promise<ChartSet> {
  return sendJson(API_CHARTS, { signal });
}
