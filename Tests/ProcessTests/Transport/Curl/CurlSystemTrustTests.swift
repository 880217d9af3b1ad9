#if os(Linux) && !URLSession
import ErrandTestSupport
import ErrandTesting
import Foundation
import Testing

/// Which of the system's files of trusted certificates are used, and how often they are looked for.
@Suite(
    "The certificates of the system", .enabled(if: Program.openssl.isInstalled, "openssl is not installed"),
    .enabled(if: Program.clang.isInstalled, "clang is not installed"), .timeLimit(.minutes(10)))
struct CurlSystemTrustTests {
    private let authority: TestAuthority

    init() async throws {
        authority = try await TestAuthority()
    }

    @Test(
        "with authorities of its own, a transport does not trust those of the system, neither file nor folder",
        .enabled(if: InstalledLibrary.noticesAlerts, InstalledLibrary.noticesNoAlert))
    func systemAuthorities() async throws {
        // The authority of this suite plays the system's: in the file, and in the folder under the hash of its name.
        let folder = try Scratch()
        try folder.write(try String(contentsOfFile: authority.file, encoding: .utf8), to: "system.pem")
        try await Program.openssl.run(["rehash", folder.folder])
        let library = try await StubLibrary(trusting: authority.file, folder.folder, before: InstalledLibrary.path)
        let server = try await TLSServer(authority.issue())
        // Of two authorities of one name, OpenSSL would try the first alone.
        let own = try await TestAuthority("Another authority")
        for (options, expected) in [([], "200 "), (["authorities=" + own.file], "untrustedCertificate false ")] {
            let probe = try Child("TransportProbe", ["get", server.url] + options, environment: library.environment)
            let lines = try await probe.end().lines
            #expect(lines.contains { $0.hasPrefix(expected) }, "\(lines)")
        }
    }

    @Test(
        "a libcurl that was built for another system trusts the certificates of this one",
        .enabled(if: systemFile != nil, "the system has no file of trusted certificates"))
    func otherSystem() async throws {
        let library = try await StubLibrary(trusting: "/nowhere/trusted.pem", "/nowhere", before: InstalledLibrary.path)
        let server = try await TLSServer(authority.issue())
        let probe = try Child("TransportProbe", ["get", server.url], environment: library.environment)
        let (lines, _) = try await probe.end()
        #expect(lines.contains("trusts \(Self.systemFile ?? "")"), "\(lines)")
        #expect(lines.contains { $0.hasPrefix("untrustedCertificate false ") }, "\(lines)")
    }

    private static let systemFile = [
        "/etc/ssl/certs/ca-certificates.crt", "/etc/pki/tls/certs/ca-bundle.crt",
        "/etc/pki/ca-trust/extracted/pem/tls-ca-bundle.pem", "/etc/ssl/ca-bundle.pem", "/etc/ssl/cert.pem",
    ].first { FileManager.default.isReadableFile(atPath: $0) }

    @Test(
        "a transport looks for the system's file of certificates once, and for plain http never",
        arguments: [true, false])
    func looking(isEncrypted: Bool) async throws {
        let scratch = try Scratch()
        let looking = try await scratch.preloading(
            """
            #include <fcntl.h>
            #include <stdio.h>
            #include <unistd.h>
            int access(const char *path, int mode) {
                printf("looked\\n");
                return faccessat(AT_FDCWD, path, mode, 0);
            }
            """)
        let encrypted = try await TLSServer(authority.issue())
        let plain = try LoopbackServer()
        plain.onAny { _ in .json("1") }
        let url = isEncrypted ? encrypted.url : plain.baseURL
        let probe = try Child(
            "TransportProbe", ["series", url, url, url], environment: looking)
        let (lines, status) = try await probe.end()
        #expect(status == 0 && lines.filter { $0 != "looked" }.count == 3, "\(lines)")
        // Once for the process, when the library is opened, and once for the transport. A libcurl that was built for
        // another system may look in its own two places, and in each of the five usual ones, and so does one whose
        // system has no certificates.
        let once = InstalledLibrary.isSystems && Self.systemFile != nil ? 1 : 7
        #expect(lines.count { $0 == "looked" } <= once + (isEncrypted ? 1 : 0), "\(lines)")
    }

    @Test(
        "a transport asks once whether the file of trusted certificates can be read",
        .enabled(if: InstalledLibrary.noticesAlerts, InstalledLibrary.noticesNoAlert))
    func askingOnce() async throws {
        // The responses of its server end with the closing alert.
        let scratch = try Scratch()
        let asking = try await scratch.preloading(
            """
            #define _GNU_SOURCE
            #include <dlfcn.h>
            #include <stdio.h>
            #include <string.h>
            int access(const char *path, int mode) {
                if (!strcmp(path, "\(authority.file)")) printf("asked\\n");
                return ((int (*)(const char *, int))dlsym(RTLD_NEXT, "access"))(path, mode);
            }
            """)
        let server = try await TLSServer(authority.issue())
        let probe = try Child(
            "TransportProbe", ["bodies", authority.file, server.url, server.url, server.url],
            environment: asking)
        let (lines, status) = try await probe.end()
        #expect(status == 0 && lines.count { $0 == "asked" } == 1, "\(lines)")
    }
}
#endif
