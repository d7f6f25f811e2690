/*
 * The launcher as an extension module of Python, which a zygote loads. It is configured through the descriptors that
 * main.c left at known numbers. Python's headers are not needed, because only its stable interface is used.
 */
#define _GNU_SOURCE
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "launcher.h"

/* Finds which trees are files, like root.c. The zygote sees them where a cell does. */
static void find_files(struct configuration *configuration)
{
    struct stat status;
    for (int at = 0; at < configuration->tree_count; at++) {
        struct tree *tree = &configuration->trees[at];
        if (stat(tree->destination, &status) != 0) fail("cannot find %s: %m", tree->destination);
        if (!S_ISDIR(status.st_mode)) tree->name = strrchr(tree->source, '/') + 1;
    }
}

typedef struct object PyObject;
typedef PyObject *function(PyObject *module, PyObject *argument);
extern PyObject _Py_NoneStruct, *PyModule_Create2(void *definition, int version);
extern void Py_IncRef(PyObject *), PyOS_BeforeFork(void), PyOS_AfterFork_Child(void);
extern long PyLong_AsLong(PyObject *);

/* Of python.c. */
void remember_interpreter(void), rehearse_end(void), note_ending(int), end_program(void);

static PyObject *nothing(void)
{
    Py_IncRef(&_Py_NoneStruct);
    return &_Py_NoneStruct;
}

/* Returns only in the interpreter of a cell. */
static PyObject *serve(PyObject *module, PyObject *none)
{
    (void)module, (void)none;
    struct stat status;
    struct configuration *configuration = parse_configuration(read_configuration(CONFIGURATION));
    if (fstat(FILTER, &status) != 0) fail("there is no filter: %m");
    configuration->filter.len = status.st_size / sizeof(struct sock_filter);
    configuration->filter.filter = malloc(status.st_size);
    if (pread(FILTER, configuration->filter.filter, status.st_size, 0) != status.st_size) fail("cannot read the filter: %m");
    close(CONFIGURATION), close(FILTER), close(LIBRARY);
    find_files(configuration);
    leave_executable();
    /* Once for all cells: the zygote itself never goes on. Python takes its locks here, and each cell frees them. */
    PyOS_BeforeFork();
    serve_cells(configuration);
    PyOS_AfterFork_Child();
    return nothing();
}

/* Does once what each cell does, so that Python's caches are filled on pages that no cell must copy later. */
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
