/** Chart files in the data directory. Only regular files are read, without following links. */
import { hasErrorCode } from '../../base/errors.ts';
import type { Files } from '../../platform/files.ts';
import { ChartProblem } from './chart-source.ts';

const MAX_CHART_BYTES = 16 * 1024 * 1024;

/** The content in base64. `name`: without folders. @throws ChartProblem */
export async function readChartFile(files: Files, folder: string, name: string): Promise<string> {
  const path = `${folder}/${name}`;
  try {
    const handle = await files.open(path, 'r');
    try {
      const { sizeBytes } = await handle.stat();
      if (sizeBytes > MAX_CHART_BYTES) throw new ChartProblem(`spec.chart: ${path} is larger than 16 MiB`);
      return Buffer.from(await handle.read(0, sizeBytes)).toString('base64');
    } finally {
      await handle.close();
    }
  } catch (error) {
    if (error instanceof ChartProblem) throw error;
    if (hasErrorCode(error, 'ENOENT')) throw new ChartProblem(`spec.chart: there is no file ${path}`);
    throw new ChartProblem(`spec.chart: ${path} cannot be read: ${(error as Error).message}`);
  }
}
