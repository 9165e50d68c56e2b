// Sends a file to the server, and tells the page how far it is. The server knows the page by its session.
(() => {
  const pause = 200; // milliseconds between two words about how far it is
  let sending = null;

  window.discreetStop = () => sending?.abort();

  window.discreetBring = (input, most, tell) => {
    const file = input.files[0];
    input.value = ""; // so that the same file can be chosen again
    if (!file) return;
    if (file.size > most) {
      tell({ large: true });
      return;
    }
    const request = new XMLHttpRequest();
    let last = 0;
    sending = request;
    request.open("POST", "/data/file");
    request.setRequestHeader("Content-Type", "application/octet-stream");
    request.setRequestHeader("X-File-Name", encodeURIComponent(file.name.slice(-200)));
    request.upload.onprogress = (event) => {
      if (event.timeStamp - last < pause) return;
      last = event.timeStamp;
      tell({ share: event.total ? event.loaded / event.total : 0 });
    };
    request.onloadend = () => {
      sending = null;
      let said = {};
      try {
        said = JSON.parse(request.responseText);
      } catch {
        // nobody answered
      }
      tell({ id: said.id, said: said.said });
    };
    tell({ share: 0 });
    request.send(file);
  };
})();
