/** A response that is polled while it is shown. */
import { useEffect, useState } from 'preact/hooks';
import { ApiError } from '../api/http.ts';
import { pause } from '../api/pause.ts';

/** The newest response, and the error of the last request. */
export interface Polled<T> {
  readonly answer?: T;
  readonly error?: ApiError;
}

interface Asking<T> {
  /** Another key restarts the polling. */
  readonly key: string;
  readonly periodMs: number;
  ask(signal: AbortSignal): Promise<T>;
  /** Whether the response ends the polling. */
  final?(answer: T): boolean;
}

export function usePolled<T>({ key, periodMs, ask, final = () => false }: Asking<T>): Polled<T> {
  const [polled, setPolled] = useState<Polled<T>>({});
  useEffect(() => {
    const life = new AbortController();
    setPolled({});
    const poll = async (): Promise<void> => {
      while (!life.signal.aborted) {
        try {
          if (!document.hidden) {
            const answer = await ask(life.signal);
            if (life.signal.aborted) return;
            setPolled({ answer });
            if (final(answer)) return;
          }
        } catch (error) {
          if (life.signal.aborted) return;
          if (!(error instanceof ApiError)) throw error;
          setPolled((before) => ({ ...before, error }));
          if (error.code === 401 || error.code === 403) return;
        }
        await pause(periodMs, life.signal);
      }
    };
    void poll();
    return () => life.abort();
  }, [key]);
  return polled;
}
