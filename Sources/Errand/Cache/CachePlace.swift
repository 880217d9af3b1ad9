#if canImport(FoundationEssentials)
import FoundationEssentials
#else
import Foundation
#endif

/// The place of a resource in the folder of a cache, for requests with the same credentials.
///
/// The responses of a session are in folders of their own, so that they can be removed at once: one for those that are
/// found by their URL, and one for those that are found by a name. There, with hashes for names:
///
/// | | |
/// |---|---|
/// | `resource` | what depends on nothing but the URL |
/// | `resource.v/variant` | what depends on other fields of the request, a file for each combination |
/// | `resource.c/credentials`, `resource.c/credentials.v/variant` | the same for requests with such credentials |
///
/// So a lookup takes no longer with many users than with few.
struct CachePlace: Sendable {
    /// How the names of folders with variants end, and those of folders with the responses to other credentials.
    private static let (variants, credentials) = (".v", ".c")

    /// The folder of the session.
    let area: String
    /// The folder in which `plain` is, relative to the folder of the cache.
    let parent: String
    /// The file of what depends on no other field, relative to the folder of the cache.
    let plain: String

    init(of key: CacheKey, by secret: CacheFolderKey) {
        area = Self.area(of: key.partition.session, isNamed: key.resource.isNamed, by: secret)
        let resource = "\(area)/\(Self.base(of: key.resource, by: secret))"
        guard let digest = key.partition.credentials else {
            (parent, plain) = (area, resource)
            return
        }
        parent = resource + Self.credentials
        let name = secret.name { writer in
            writer.add("credentials")
            for byte in digest { writer.add(byte) }
        }
        plain = "\(parent)/\(name)"
    }

    /// The folder of what depends on other fields of the request.
    var folder: String { plain + Self.variants }

    /// Returns the name of the file of a variant.
    func name(of variant: CacheVariant, by secret: CacheFolderKey) -> String {
        if variant.names.isEmpty { return plain }
        let name = secret.name { writer in
            writer.add("variant")
            writer.add(variant.names)
            for value in variant.values { writer.add(value) }
        }
        return "\(folder)/\(name)"
    }

    /// Returns the folders of what depends on more than the resource with that file.
    static func folders(beside resource: String) -> [String] { [resource + variants, resource + credentials] }

    /// Whether that is the name of a folder in the folder of a session, and not of a file.
    static func isFolder(_ name: String) -> Bool { name.hasSuffix(variants) || name.hasSuffix(credentials) }

    /// Returns the folder of a session.
    static func area(of session: UUID?, isNamed: Bool, by secret: CacheFolderKey) -> String {
        let kind = isNamed ? "n" : "u"
        guard let session else { return kind }
        return "\(kind)-\(secret.name { $0.add(["session", session.uuidString]) })"
    }

    /// Returns the name of a resource in the folder of a session.
    static func base(of resource: CacheKey.Resource, by secret: CacheFolderKey) -> String {
        switch resource {
        case .url(let url): secret.name { $0.add(["url", url.absoluteString]) }
        case .named(let name, let origin): secret.name { $0.add(["name", origin.description, name]) }
        }
    }

    /// Whether the file is that of a response that is found by a name.
    static func isNamed(_ file: String) -> Bool { file.hasPrefix("n") }

    /// Whether that is the name of the folder of a session.
    static func isArea(_ name: String) -> Bool {
        name == "u" || name == "n" || name.hasPrefix("u-") || name.hasPrefix("n-")
    }
}

extension CacheKey.Resource {
    var isNamed: Bool { if case .named = self { true } else { false } }
}
