/*
 * The requests that a cell's kernel gets on runsc's own control socket before it runs anything: one JSON value each way.
 */
#define _GNU_SOURCE
#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#include "sentry.h"

/* The only interface: a program reaches itself and nothing else. Masks are base64. */
static const char LOOPBACK[] =
    "{\"LoopbackLinks\":[{\"Name\":\"lo\","
    "\"Addresses\":[{\"Address\":\"127.0.0.1\",\"PrefixLen\":8},{\"Address\":\"::1\",\"PrefixLen\":128}],"
    "\"Routes\":[{\"Destination\":{\"IP\":\"127.0.0.0\",\"Mask\":\"/wAAAA==\"}},"
    "{\"Destination\":{\"IP\":\"::1\",\"Mask\":\"/////////////////////w==\"}}]}]}";

/* The socket's name is removed before any other process can know it, so the socket gets only this connection. */
int listen_unnamed(int *client)
{
    struct sockaddr_un address = { .sun_family = AF_UNIX, .sun_path = "control" };
    int server = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
    *client = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
    must(server, "make a socket"), must(*client, "make a socket");
    must(bind(server, (struct sockaddr *)&address, sizeof address), "bind the control socket");
    must(listen(server, 1), "listen");
    must(connect(*client, (struct sockaddr *)&address, sizeof address), "connect");
    must(unlink("control"), "unlink the control socket");
    return server;
}

/* Sends a request and waits for the answer, which is one short value. */
static void call(int client, const char *method, const char *argument)
{
    char text[1024];
    int length = snprintf(text, sizeof text, "{\"method\":\"%s\",\"arg\":%s}", method, argument);
    if (length >= (int)sizeof text || send(client, text, length, MSG_NOSIGNAL) != length) fail("runsc cannot be told anything");
    ssize_t count;
    while ((count = recv(client, text, sizeof text - 1, 0)) < 0 && errno == EINTR) {}
    text[count > 0 ? count : 0] = '\0';
    if (strstr(text, "\"success\":true") == NULL) fail("%s failed: %s", method, count > 0 ? text : "runsc ended");
}

/* Returns when the first process of the cell runs. The id contains no character that JSON would quote. */
void start_program(int client, const char *id)
{
    char name[128];
    snprintf(name, sizeof name, "\"%s\"", id);
    call(client, "Network.CreateLinksAndRoutes", LOOPBACK);
    call(client, "containerManager.StartRoot", name);
    close(client);
}
