/** The frame of all views: header, menu, and the current view. */
import { signal } from '@preact/signals';
import { useEffect } from 'preact/hooks';
import { HelpDialog, helpOpen } from './help.tsx';
import { Header } from './header.tsx';
import { bindKeys } from './keyboard.ts';
import { LinkDialog } from './link-dialog.tsx';
import { Menu } from './menu-bar.tsx';
import { Palette, paletteOpen } from './palette.tsx';
import { allViews, viewNamed } from './registered-views.ts';
import { route, setParams } from './router.ts';
import { session } from './session.ts';
import { SignIn } from './sign-in.tsx';
import { texts } from './texts.ts';
import { timeBarOpen } from './moment.ts';
import { TimeBar } from './time-bar.tsx';
import { ViewHolder } from './view-holder.tsx';

/** Whether the menu is open on a page that is too narrow to show it beside the view. */
const menuOpen = signal(false);

export function Shell() {
  const state = session.value;
  if (state.kind === 'unknown') return <p class="boot">{texts.shell.loading}</p>;
  if (state.kind === 'signedOut') return <SignIn reason={state.reason} />;
  return <SignedIn key={state.user.username} />;
}

function SignedIn() {
  useEffect(() => bindKeys(pageKeys), []);
  const name = route.value.view;
  const entry = viewNamed(name);
  useEffect(() => {
    menuOpen.value = false;
  }, [name, entry]);
  return (
    <>
      <a class="skip" href="#content" onClick={skipToContent}>
        {texts.skip}
      </a>
      <Header menuOpen={menuOpen} />
      <TimeBar />
      <div class="frame">
        <Menu open={menuOpen} views={allViews()} />
        <main id="content" tabIndex={-1}>
          {entry === undefined ? <p class="notice">{texts.shell.noView}</p> : <ViewHolder key={name} entry={entry} />}
        </main>
      </div>
      <Palette />
      <HelpDialog />
      <LinkDialog />
    </>
  );
}

function skipToContent(event: Event): void {
  event.preventDefault();
  document.getElementById('content')?.focus();
}

const pageKeys = [
  { key: ':', label: texts.keys.palette, run: () => (paletteOpen.value = true) },
  { key: '?', label: texts.keys.help, run: () => (helpOpen.value = true) },
  { key: 'T', label: texts.keys.time, run: () => (timeBarOpen.value = !timeBarOpen.value) },
  { key: '0', label: texts.keys.allNamespaces, run: () => setParams({ ns: '' }) },
];
