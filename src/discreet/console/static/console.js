// A page whose socket is refused cannot know why. It asks once in a while, and goes to the form if nobody is signed in.
setInterval(async () => {
  if (!window.socket || window.socket.connected || document.hidden) return;
  try {
    const said = await fetch("/session", { credentials: "same-origin", cache: "no-store" });
    if (said.status === 401) window.location.assign("/sign-in?why=ended");
  } catch {
    // nobody answers: NiceGUI says so, and tries again
  }
}, 5000);

// A button that copies the text it carries, and says so.
document.addEventListener("click", async (event) => {
  const button = event.target.closest?.("button.d-copy[data-copy]");
  if (!button) return;
  const words = button.textContent;
  try {
    await navigator.clipboard.writeText(button.dataset.copy);
    button.textContent = "Copied";
  } catch {
    button.textContent = "Mark it and copy"; // no clipboard without TLS
  }
  setTimeout(() => (button.textContent = words), 1500);
});
