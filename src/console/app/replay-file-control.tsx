/** Opens the file of a recorded run in a simulation's console, and navigates to the run. */
import { useRef } from 'preact/hooks';
import { mayOnPath } from './cluster-state.ts';
import { closeReplayFile, openReplayFile, REPLAY_FILE_PATH, replayFile, showReplayFile } from './replay-file.ts';
import { texts } from './texts.ts';

export function ReplayFileControl({ attempt }: { readonly attempt: (work: Promise<void>) => void }) {
  const input = useRef<HTMLInputElement>(null);
  const known = replayFile.value;
  if (known === undefined || !mayOnPath('post', REPLAY_FILE_PATH)) return null;
  const { replayFile: words } = texts;
  const { state, name = '', failure, message = '' } = known;
  return (
    <span class="simulation-file">
      <input
        ref={input}
        type="file"
        hidden
        accept=".yaml,.yml"
        aria-label={words.file}
        onChange={({ currentTarget }) => {
          const [file] = currentTarget.files ?? [];
          if (file !== undefined) attempt(openReplayFile(file));
          currentTarget.value = ''; // allows the same file to be chosen again
        }}
      />
      <button type="button" disabled={state === 'Running'} onClick={() => input.current?.click()}>
        {words.choose}
      </button>
      <span role="status">
        {state === 'Running' ? words.running(name) : null}
        {state === 'Open' ? (failure === undefined ? words.passed(name) : words.failed(name)) : null}
        {state === 'Refused' ? words.refused(message) : null}
      </span>
      {state === 'Open' ? (
        <button type="button" class="primary" onClick={() => attempt(showReplayFile())}>
          {words.show}
        </button>
      ) : null}
      {state === 'Open' || state === 'Running' ? (
        <button type="button" onClick={() => attempt(closeReplayFile())}>
          {words.end}
        </button>
      ) : null}
    </span>
  );
}
