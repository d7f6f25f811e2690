/*
 * The template's side, as an extension module of Python. Python's headers are not needed, because only its stable interface
 * is used. `serve` returns only in copies, each in its own cell at the workload-ready boundary.
 */
#define _GNU_SOURCE
#include <errno.h>
#include <malloc.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/uio.h>
#include <unistd.h>

#include "launcher.h"

/* How much free heap memory is kept, so that a short program need not request more. */
enum { ROOM_BYTES = 128 * 1024 };

typedef struct object PyObject;
typedef PyObject *function(PyObject *module, PyObject *argument);
extern PyObject _Py_NoneStruct, *PyModule_Create2(void *definition, int version);
extern void Py_IncRef(PyObject *), PyOS_BeforeFork(void), PyOS_AfterFork_Child(void);
extern long PyLong_AsLong(PyObject *);

/* Functions of python.c. */
void remember_interpreter(void), rehearse_end(void), note_ending(int), end_program(void);

static PyObject *nothing(void)
{
    Py_IncRef(&_Py_NoneStruct);
    return &_Py_NoneStruct;
}

/* Waits for a request, and returns the number of its files. Ends this process if the launcher has ended. */
static int take_files(int *files)
{
    char byte, control[CMSG_SPACE(COPY_FILES_MAX * sizeof *files)];
    struct iovec part = { &byte, 1 };
    struct msghdr message = { .msg_iov = &part, .msg_iovlen = 1, .msg_control = control, .msg_controllen = sizeof control };
    ssize_t length;
    while ((length = recvmsg(ASKED, &message, MSG_CMSG_CLOEXEC)) < 0 && errno == EINTR) {}
    struct cmsghdr *header = length == 1 ? CMSG_FIRSTHDR(&message) : NULL;
    if (length <= 0) _exit(0);
    if (header == NULL || header->cmsg_type != SCM_RIGHTS || (message.msg_flags & MSG_CTRUNC)) fail("a malformed request");
    int count = (header->cmsg_len - CMSG_LEN(0)) / sizeof *files;
    memcpy(files, CMSG_DATA(header), count * sizeof *files);
    return count;
}

static void say(char word)
{
    if (send(ASKED, &word, 1, MSG_NOSIGNAL) != 1) _exit(0);
}

static void await_requests(void)
{
    say('u');
    for (;;) {
        int files[COPY_FILES_MAX], count = take_files(files), result = copy_into(files, count);
        if (result == 1) return;
        while (count > 0) close(files[--count]);
        say(result == 0 ? 'd' : 'f');
    }
}

static PyObject *serve(PyObject *module, PyObject *none)
{
    (void)module, (void)none;
    close(LIBRARY);
    speaker = "template: ";
    leave_executable();
    /* Compacts free memory here and not in each copy, because compacting writes to its pages. */
    malloc_trim(ROOM_BYTES);
    /* Python takes its locks here, once for all copies. Each copy frees them. The template runs no more Python. */
    PyOS_BeforeFork();
    await_requests();
    PyOS_AfterFork_Child();
    return nothing();
}

/* Does once what each copy does, so that Python's caches are filled on pages that no copy needs to copy later. */
static PyObject *rehearse(PyObject *module, PyObject *none)
{
    (void)module, (void)none;
    PyOS_BeforeFork();
    PyOS_AfterFork_Child();
    rehearse_end();
    return nothing();
}

static PyObject *remember(PyObject *module, PyObject *none)
{
    (void)module, (void)none;
    remember_interpreter();
    return nothing();
}

static PyObject *note_end(PyObject *module, PyObject *ending)
{
    (void)module;
    note_ending(PyLong_AsLong(ending));
    return nothing();
}

static PyObject *end(PyObject *module, PyObject *none)
{
    (void)module, (void)none;
    end_program();
    return nothing();
}

enum { NO_ARGUMENT = 4, ONE_ARGUMENT = 8, INTERFACE = 3 };

/* PyMethodDef and PyModuleDef. */
static struct {
    const char *name;
    function *call;
    int takes;
    const char *description;
} functions[] = {
    { "serve", serve, NO_ARGUMENT, NULL },
    { "remember", remember, NO_ARGUMENT, NULL },
    { "rehearse", rehearse, NO_ARGUMENT, NULL },
    { "note_end", note_end, ONE_ARGUMENT, NULL },
    { "end", end, NO_ARGUMENT, NULL },
    { NULL, NULL, 0, NULL },
};

static struct {
    ssize_t references;
    void *type, *init;
    ssize_t index;
    void *copy;
    const char *name, *description;
    ssize_t size;
    void *functions, *slots, *traverse, *clear, *free;
} definition = { .references = 1, .name = "launcher", .size = -1, .functions = functions };

PyObject *PyInit_launcher(void)
{
    return PyModule_Create2(&definition, INTERFACE);
}
