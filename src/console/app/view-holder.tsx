/** Loads a view's code and shows it. */
import { type ComponentType, Component } from 'preact';
import { useEffect, useState } from 'preact/hooks';
import type { ViewEntry, ViewProps } from '../views/contract.ts';
import { route } from './router.ts';
import { texts } from './texts.ts';

type Loaded = { readonly View: ComponentType<ViewProps> } | { readonly error: string } | undefined;

export function ViewHolder({ entry }: { readonly entry: ViewEntry }) {
  const [loaded, setLoaded] = useState<Loaded>();
  const [attempt, setAttempt] = useState(0);
  useEffect(() => {
    let current = true;
    document.title = `${entry.title} · ${texts.title}`;
    entry.load().then(
      ({ View }) => current && setLoaded({ View }),
      (error: unknown) => current && setLoaded({ error: String(error) }),
    );
    return () => {
      current = false;
    };
  }, [entry, attempt]);
  if (loaded === undefined) return <p class="notice">{texts.shell.loading}</p>;
  if ('error' in loaded) return <Failure message={loaded.error} onRetry={() => setAttempt(attempt + 1)} />;
  return (
    <Boundary>
      <loaded.View route={route.value} />
    </Boundary>
  );
}

function Failure({ message, onRetry }: { readonly message: string; readonly onRetry: () => void }) {
  return (
    <div class="notice" role="alert">
      <p>{texts.shell.failed}</p>
      <p class="mono">{message}</p>
      <button type="button" onClick={onRetry}>
        {texts.shell.retry}
      </button>
    </div>
  );
}

/** An error in one view does not affect the page around it. */
class Boundary extends Component<object, { readonly error?: string }> {
  static override getDerivedStateFromError(error: unknown): { readonly error: string } {
    return { error: String(error) };
  }

  render() {
    const { error } = this.state;
    if (error !== undefined) return <Failure message={error} onRetry={() => location.reload()} />;
    return this.props.children;
  }
}
