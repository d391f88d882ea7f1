/** The control plane's components with the results of their health checks. */
import { useEffect, useState } from 'preact/hooks';
import type { ComponentStatus } from '../../../api/gen/core-v1.ts';
import { ApiError, sendJson } from '../../api/http.ts';
import { texts } from '../../app/texts.ts';
import { Badge } from '../../parts/badge.tsx';
import { Card } from './card.tsx';

const PERIOD_MS = 15_000;

export function ComponentsCard() {
  const [components, setComponents] = useState<readonly ComponentStatus[]>([]);
  useEffect(() => {
    const ask = (): void => {
      if (document.hidden) return;
      sendJson<{ items: readonly ComponentStatus[] }>('/api/v1/componentstatuses').then(
        ({ items }) => setComponents(items),
        (error: unknown) => {
          if (!(error instanceof ApiError)) throw error; // the next poll tries again
        },
      );
    };
    const timer = setInterval(ask, PERIOD_MS);
    ask();
    return () => clearInterval(timer);
  }, []);
  const { overview } = texts;
  return (
    <Card title={overview.components}>
      <ul class="overview-lines">
        {components.map(({ metadata, conditions = [] }) => {
          const healthy = conditions.find(({ type }) => type === 'Healthy');
          const well = healthy?.status === 'True';
          return (
            <li key={metadata.name}>
              <span>{metadata.name}</span>
              <span title={healthy?.message ?? healthy?.error}>
                <Badge word={well ? overview.healthy : overview.unhealthy} tone={well ? 'good' : 'bad'} />
              </span>
            </li>
          );
        })}
      </ul>
    </Card>
  );
}
